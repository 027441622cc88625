// An agent's work with whatever client it is given: come when rung, claim, complete.
// Each thing that happens is one line of JSON on standard output.

const DOORBELL = 'notifications/claude/channel';

export const endpoint = new URL(process.env.ENDPOINT_URL);
export const requestInit = { headers: { authorization: `Bearer ${process.env.CREDENTIAL}` } };
export const info = { name: process.env.CLIENT_NAME, version: '1' };

const tell = (event) => process.stdout.write(JSON.stringify(event) + '\n');

// How the server answered the question which eras it speaks, if the client asked it.
let probe = null;
export async function watchedFetch(url, init) {
  const response = await fetch(url, init);
  if (typeof init?.body === 'string' && JSON.parse(init.body).method === 'server/discover') {
    probe = { status: response.status, code: (await response.clone().json()).error?.code ?? null };
  }
  return response;
}

async function call(client, name, args = {}) {
  const result = await client.callTool({ name, arguments: args });
  if (result.isError) throw new Error(`${name}: ${result.content[0].text}`);
  return result.structuredContent;
}

async function finish(client, id) {
  const { lease_token } = await call(client, 'claim', { id });
  await call(client, 'complete', { id, lease_token, result: { by: info.name } });
  tell({ completed: id });
}

// Finishes `bells` todos that it hears of, or the ones it finds by itself when that is 0.
export async function work(client, transport, era) {
  const bells = Number(process.env.BELLS);
  const heard = [];
  let hear = () => {};
  client.fallbackNotificationHandler = async (notification) => {
    if (notification.method === DOORBELL) {
      heard.push(notification.params);
      hear();
    }
  };
  await client.connect(transport);
  const { tools } = await client.listTools();
  tell({ era: era(), probe, tools: tools.map((tool) => tool.name) });
  if (bells === 0) {
    for (const todo of (await call(client, 'list_todos')).todos) await finish(client, todo.id);
  }
  for (let n = 0; n < bells; n++) {
    while (heard.length === 0) await new Promise((resolve) => { hear = resolve; });
    const bell = heard.shift();
    tell({ rung: bell });
    await finish(client, bell.meta.todo_id);
  }
  await client.close();
}
