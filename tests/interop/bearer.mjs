// Preloaded into a program that has no option for a header: each of its requests carries MCP_BEARER.
import http from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import { Agent, setGlobalDispatcher } from 'undici';

const line = ['authorization', `Bearer ${process.env.MCP_BEARER}`];

/** Headers as undici hands them on: a flat list, pairs, or an object. */
function admitted(headers = {}) {
  if (Array.isArray(headers) && !Array.isArray(headers[0])) return [...headers, ...line];
  const pairs = typeof headers[Symbol.iterator] === 'function' ? headers : Object.entries(headers);
  return Object.fromEntries([...pairs, line]);
}

setGlobalDispatcher(
  new Agent().compose((dispatch) => (options, handler) =>
    dispatch({ ...options, headers: admitted(options.headers) }, handler)),
);

// Header checks are sent by Node's own client, whose options stand first or after the URL.
const request = http.request;
http.request = (...given) =>
  request(
    ...given.map((one) =>
      one?.headers === undefined ? one : { ...one, headers: admitted(one.headers) },
    ),
  );
syncBuiltinESMExports();
