/**
 * The chat in a terminal: a line to type on, and the output above it.
 *
 * - `screen.ts`         output above the typed line
 * - `speak.ts`          styles of output
 * - `paste.ts`          pasted text as part of one line
 * - `answering.ts`      a person's answer to a question of a tool, field by field
 * - `complete.ts`       completion with Tab
 * - `history-file.ts`   the saved history of typed lines
 */
import { createInterface, type Interface } from 'node:readline';
import type { ReadStream } from 'node:tty';
import { type Chat, type ChatWish, openChat } from '../chat.ts';
import type { GatewayClient } from '../gateway-client.ts';
import { lineOf } from '../line-of.ts';
import { type Answering, type AskedQuestion, createAnswering, declineLine } from './answering.ts';
import { type Completion, createCompleter } from './complete.ts';
import { type History, maxHistory, openHistory } from './history-file.ts';
import { pasteMode, readPastes, textOfTyped } from './paste.ts';
import { createScreen, type Screen } from './screen.ts';
import { createSpeaker, type Speaker } from './speak.ts';

/** A silence of this length is shown. */
const quietSeconds = 2;
const leaving = 'Ctrl-D or /quit ends the chat.';

/** Resolves with the exit code when the person ends the chat. Throws GatewayAway and GatewayRefusal while it opens. */
export async function runTerminal(deps: {
  client: GatewayClient;
  wish: ChatWish;
  historyFile: string;
}): Promise<number> {
  const { client, wish } = deps;
  const { stdout: output } = process;
  const input = readPastes(process.stdin);
  const left = Promise.withResolvers<number>();
  const speaker = createSpeaker(output);
  const history = await openHistory(deps.historyFile, speaker.warn);
  const silence = createSilence();
  const asked: Asked = { now: undefined };
  const chat = await openChat(
    {
      client,
      onShown(all) {
        if (all.length > 0) silence.broken();
        all.forEach(speaker.show);
      },
      onAway: (reason) => speaker.warn(`The gateway is unreachable (${reason}); trying again…`),
      onBack: () => speaker.note('The gateway is reachable again.'),
      onGap: () => speaker.warn('Some events since then are no longer stored and cannot be shown.'),
      onQuestion(question) {
        asked.now = question && { ...question, answering: createAnswering(question) };
        if (asked.now) speaker.note(`${asked.now.answering.prompt()}; ${declineLine} declines`);
      },
      onBroken(error) {
        speaker.warn(error.message);
        left.resolve(1);
      },
    },
    wish,
  );
  speaker.note(`thread ${chat.threadId} at ${client.url}`);
  speaker.note(`/help lists the commands; Ctrl-C interrupts, ${leaving}`);

  const complete = createCompleter(client);
  const prompt = openPrompt(input, history, async (line) => {
    const completion = await complete(line);
    screen.breakText(); // readline lists several completions below the output
    return completion;
  });
  const screen = createScreen(prompt, { input, output });
  prompt.on('close', () => {
    screen.closePrompt();
    left.resolve(0);
  });
  speaker.use(screen);
  const stopShowing = showSilence({
    isQuiet: () => chat.isBusy() && asked.now === undefined,
    silence,
    screen,
  });
  takeLines({ prompt, chat, history, speaker, asked, leave: () => left.resolve(0) });
  screen.openPrompt();

  output.write(pasteMode.on);
  const code = await left.promise;
  stopShowing();
  output.write(pasteMode.off);
  prompt.close();
  await chat.close();
  speaker.note(`To continue: npm run chat -- --thread ${chat.threadId}`);
  return code;
}

/** Since when nothing was shown. */
function createSilence(): { broken(): void; sinceMs(): number } {
  let since = performance.now();
  return {
    broken() {
      since = performance.now();
    },
    sinceMs: () => performance.now() - since,
  };
}

/**
 * While a run is in progress and has shown nothing for two seconds, the prompt shows for how long. Returns the function
 * that stops this.
 */
function showSilence(deps: {
  /** A run is in progress, and no question of it is open. */
  isQuiet(): boolean;
  silence: ReturnType<typeof createSilence>;
  screen: Screen;
}): () => void {
  const { isQuiet, silence, screen } = deps;
  const timer = setInterval(() => {
    if (!isQuiet()) silence.broken();
    const seconds = Math.floor(silence.sinceMs() / 1000);
    screen.prefix(seconds >= quietSeconds ? `working, ${seconds} s ` : '');
  }, 500);
  return () => clearInterval(timer);
}

/** The question of a tool that is open. */
interface Asked {
  now: (AskedQuestion & { answering: Answering }) | undefined;
}

function openPrompt(
  input: ReadStream,
  history: History,
  complete: (line: string) => Promise<Completion>,
): Interface {
  return createInterface({
    input,
    output: process.stdout,
    terminal: true,
    prompt: '> ',
    history: history.lines,
    historySize: maxHistory,
    removeHistoryDuplicates: true,
    completer: (line: string, done: (error: null, completion: Completion) => void) =>
      void complete(line).then((completion) => done(null, completion)),
  });
}

/** Executes typed lines one at a time, so that messages arrive in the order in which they were typed. */
function takeLines(deps: {
  prompt: Interface;
  chat: Chat;
  history: History;
  speaker: Speaker;
  asked: Asked;
  leave(): void;
}): void {
  const { prompt, chat, speaker } = deps;
  const { asked } = deps;
  /** Takes a line as the answer to the open question. */
  const answer = async (typed: string, { questionId, answering }: NonNullable<Asked['now']>) => {
    const taken = answering.take(typed);
    if (taken === undefined) speaker.note(answering.prompt());
    else if ('wrong' in taken) speaker.warn(taken.wrong);
    else {
      asked.now = undefined;
      await chat.answer(questionId, taken);
    }
  };
  const act = async (typed: string) => {
    if (asked.now) return answer(typed, asked.now);
    const line = lineOf(textOfTyped(typed));
    if (line.kind === 'message') await chat.send(line.text);
    if (line.kind !== 'command') return;
    const before = chat.threadId;
    const { output, isError, action } = await chat.command(line.command);
    if (isError) speaker.warn(output);
    else speaker.write(output);
    if (action === 'quit') deps.leave();
    if (chat.threadId !== before) speaker.note(`thread ${chat.threadId}`);
  };
  const warnOf = (error: Error) => speaker.warn(error.message);
  let acting: Promise<void> = Promise.resolve();
  prompt.on('line', (typed) => {
    if (typed.trim() !== '') void deps.history.add(typed);
    acting = acting.then(() => act(typed)).catch(warnOf);
    prompt.prompt();
  });
  prompt.on('SIGINT', () => {
    if (prompt.line === '') {
      const interrupt = async () => speaker.note((await chat.interrupt()) ? 'Interrupting…' : leaving);
      return void interrupt().catch(warnOf);
    }
    for (const name of ['e', 'u']) prompt.write(null, { ctrl: true, name });
  });
}
