// The first generation of the TypeScript SDK.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { endpoint, info, requestInit, watchedFetch, work } from './agent.mjs';

const transport = new StreamableHTTPClientTransport(endpoint, { requestInit, fetch: watchedFetch });
await work(new Client(info), transport, () => transport.protocolVersion);
