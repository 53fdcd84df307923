/** The chat without a terminal: reads lines one after another, prints results to stdout and everything else to stderr. */
import type { ThreadEvent } from '@harness/contracts';
import { type Chat, type ChatWish, openChat } from './chat.ts';
import { GatewayAway, type GatewayClient } from './gateway-client.ts';
import { lineOf } from './line-of.ts';
import { jsonLineOf, printableOf } from './printable.ts';

/** Maximum wait for an unreachable gateway, ms. */
const awayLimitMs = 60_000;

/**
 * Resolves with the exit code after the result of the last line: 0 if every run and every command succeeded, 130 after
 * Ctrl-C, otherwise 1. Throws GatewayAway and GatewayRefusal.
 */
export async function runLines(
  lines: AsyncIterable<string> | Iterable<string>,
  deps: { client: GatewayClient; wish: ChatWish; json: boolean },
): Promise<number> {
  const { client, wish, json } = deps;
  const write = (text: string) => process.stdout.write(`${text}\n`);
  const note = (text: string) => process.stderr.write(`${printableOf(text)}\n`);
  const given = Promise.withResolvers<never>();
  given.promise.catch(() => undefined); // only awaited in the races below
  let late: NodeJS.Timeout | undefined;
  const chat = await openChat(
    {
      client,
      onShown: (all) => {
        for (const shown of all) if (shown.kind === 'note') note(shown.text);
      },
      ...(json && { onEvent: (event: ThreadEvent) => void write(jsonLineOf(event)) }),
      onAway(reason) {
        note(`The gateway is unreachable (${reason}); trying again…`);
        late = setTimeout(
          () => given.reject(new GatewayAway(`unreachable for ${awayLimitMs / 1000} s`)),
          awayLimitMs,
        );
      },
      onBack() {
        note('The gateway is reachable again.');
        clearTimeout(late);
      },
      onGap: () => note('Some events since then are no longer stored and cannot be shown.'),
      onBroken: given.reject,
    },
    wish,
  );
  if (wish.threadId === undefined) note(`thread ${chat.threadId}`);
  const interrupts = interruptOnSignal(chat);
  const act = async (typed: string): Promise<'done' | 'failed' | 'quit'> => {
    const line = lineOf(typed);
    if (line.kind === 'blank') return 'done';
    if (line.kind === 'message') return answer(chat, await chat.send(line.text));
    const { isError, output, action, runId } = await chat.command(line.command);
    if (json) write(jsonLineOf({ type: 'command', command: line.command, output, isError, action }));
    else if (isError) note(output);
    else write(printableOf(output));
    if (action === 'quit') return 'quit';
    if (runId !== undefined) return answer(chat, runId);
    return isError ? 'failed' : 'done';
  };
  const answer = async (from: Chat, runId: string) => {
    const { status, result } = await from.ended(runId);
    if (!json && result !== null) write(printableOf(result));
    return status === 'success' ? 'done' : 'failed';
  };

  let code = 0;
  try {
    for await (const typed of lines) {
      const outcome = await Promise.race([act(typed), given.promise]);
      if (outcome === 'failed') code = 1;
      if (outcome === 'quit') break;
      if (interrupts.asked()) return 130;
    }
  } finally {
    interrupts.stop();
    clearTimeout(late);
    await chat.close();
  }
  return code;
}

/** The first Ctrl-C cancels the current run; a second one exits. */
function interruptOnSignal(chat: Chat): { asked(): boolean; stop(): void } {
  let asked = false;
  const interrupt = () => {
    if (asked) process.exit(130);
    asked = true;
    chat.interrupt().then(
      (found) => !found && process.exit(130),
      () => process.exit(130),
    );
  };
  process.on('SIGINT', interrupt);
  return { asked: () => asked, stop: () => void process.off('SIGINT', interrupt) };
}
