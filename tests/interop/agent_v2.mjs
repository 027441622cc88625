// The second generation of the TypeScript SDK. ERA_MODE absent: as the client is by default.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { endpoint, info, requestInit, watchedFetch, work } from './agent.mjs';

const mode = process.env.ERA_MODE;
const client = new Client(info, mode ? { versionNegotiation: { mode } } : {});
const transport = new StreamableHTTPClientTransport(endpoint, { requestInit, fetch: watchedFetch });
await work(client, transport, () => client.getNegotiatedProtocolVersion());
