/** `npm run chat`: the main file of the terminal. */
import { createInterface } from 'node:readline';
import { ConfigError, GatewayRefusal, runMain } from '@harness/runtime';
import { type ChatConfig, loadChatConfig, usage } from './config.ts';
import { createGatewayClient, GatewayAway } from './gateway-client.ts';
import { runLines } from './lines.ts';
import { runTerminal } from './terminal/terminal.ts';

runMain(async () => {
  const config = loadChatConfig();
  // The reader of the output has disconnected (`| head`).
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => process.exit(1));
  if (config.help) console.log(usage);
  const code = config.help ? 0 : await chat(config).catch((error: Error) => giveUp(error, config));
  process.stdout.write('', () => process.exit(code));
});

function chat({ url, apiKey, message, json, historyFile, cursor, ...rest }: ChatConfig): Promise<number> {
  const client = createGatewayClient(url, apiKey);
  const wish = { threadId: rest.threadId, agent: rest.agent, model: rest.model };
  if (message !== undefined) return runLines([message], { client, wish, json });
  const { stdin, stdout } = process;
  if (!json && cursor && stdin.isTTY && stdout.isTTY) return runTerminal({ client, wish, historyFile });
  return runLines(typedLines(), { client, wish, json });
}

/** Created on first use, because lines that are read before would be lost. */
async function* typedLines(): AsyncGenerator<string> {
  yield* createInterface({ input: process.stdin, terminal: false });
}

/** Throws a ConfigError with one line: what to do. */
function giveUp(error: Error, { url }: ChatConfig): never {
  if (error instanceof GatewayAway)
    throw new ConfigError(
      `No gateway responds at ${url} (${error.message}): run "npm start" first, or set HARNESS_URL.`,
    );
  const status = error instanceof GatewayRefusal ? error.status : 0;
  if (status === 401)
    throw new ConfigError('The gateway refuses the API key: set HARNESS_API_KEY to a valid one.');
  if (status > 0) throw new ConfigError(error.message);
  throw error;
}
