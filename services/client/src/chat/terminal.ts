/** The chat in a terminal: a line to type on, and above it what comes. */
import { createInterface } from 'node:readline';
import { styleText } from 'node:util';
import { type ChatWish, openChat } from './chat.ts';
import { type Completion, createCompleter } from './complete.ts';
import type { GatewayClient } from './gateway-client.ts';
import { maxHistory, openHistory } from './history-file.ts';
import { lineOf } from './line-of.ts';
import { printableOf } from './printable.ts';
import { createScreen, type Screen } from './screen.ts';
import type { Shown } from './thread-view.ts';

const leaving = 'Ctrl-D or /quit leaves.';

/** Resolves with the exit code when the person leaves. Throws GatewayAway and GatewayRefusal while it opens. */
export async function runTerminal(deps: {
  client: GatewayClient;
  wish: ChatWish;
  historyFile: string;
}): Promise<number> {
  const { client } = deps;
  const { stdin: input, stdout: output } = process;
  const left = Promise.withResolvers<number>();
  let screen: Screen | undefined;
  const note = (text: string, style: 'dim' | 'red' = 'dim') => {
    const styled = styleText(style, text, { stream: output });
    if (screen) screen.lines(styled);
    else output.write(`${styled}\n`);
  };
  const tell = (error: Error) => note(printableOf(error.message), 'red');
  const show = (shown: Shown) => {
    if (shown.kind === 'text') screen?.text(printableOf(shown.text));
    else if (shown.kind === 'end') screen?.endText();
    else note(shown.text, shown.bad ? 'red' : 'dim');
  };
  const history = await openHistory(deps.historyFile, (problem) => note(problem, 'red'));
  const chat = await openChat(
    {
      client,
      onShown: (all) => all.forEach(show),
      onAway: (reason) => note(`The gateway is away (${printableOf(reason)}); trying again…`, 'red'),
      onBack: () => note('The gateway is back.'),
      onBroken(error) {
        tell(error);
        left.resolve(1);
      },
    },
    deps.wish,
  );
  note(`thread ${chat.threadId} at ${client.url}`);
  note(`/help lists the commands; Ctrl-C interrupts, ${leaving}`);

  const complete = createCompleter(client);
  const rl = createInterface({
    input,
    output,
    prompt: '> ',
    history: history.lines,
    historySize: maxHistory,
    removeHistoryDuplicates: true,
    completer(line: string, done: (error: null, completion: Completion) => void) {
      screen?.breakText(); // several fits are listed below the line
      void complete(line).then((completion) => done(null, completion));
    },
  });
  const shownOn = createScreen(rl, { input, output });
  screen = shownOn;

  const act = async (typed: string) => {
    const line = lineOf(typed);
    if (line.kind === 'message') await chat.send(line.text);
    if (line.kind !== 'command') return;
    const before = chat.threadId;
    const { output: said, isError, action } = await chat.command(line.command);
    if (isError) note(printableOf(said), 'red');
    else shownOn.lines(printableOf(said));
    if (action === 'quit') left.resolve(0);
    if (chat.threadId !== before) note(`thread ${chat.threadId}`);
  };
  const interrupt = async () => note((await chat.interrupt()) ? 'Interrupting…' : leaving);
  /** One after another: messages arrive in the order in which they were typed. */
  let acting: Promise<void> = Promise.resolve();
  const inTurn = (step: () => Promise<void>) => {
    acting = acting.then(step).catch(tell);
  };
  rl.on('line', (typed) => {
    if (typed.trim() !== '') void history.add(typed);
    inTurn(() => act(typed));
    rl.prompt();
  });
  rl.on('SIGINT', () => {
    if (rl.line === '') return void interrupt().catch(tell);
    for (const name of ['e', 'u']) rl.write(null, { ctrl: true, name });
  });
  rl.on('close', () => {
    shownOn.closePrompt();
    left.resolve(0);
  });
  shownOn.openPrompt();
  const code = await left.promise;
  rl.close();
  await chat.close();
  output.write(styleText('dim', `To go on: npm run chat -- --thread ${chat.threadId}\n`, { stream: output }));
  return code;
}
