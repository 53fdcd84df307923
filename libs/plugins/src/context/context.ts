import { quote } from '@harness/contracts';
import { definePlugin, type HistoryMessage, type PluginTurn } from '@harness/plugin-kit';

/** Turns of the conversation that a cold session is given, and how much of them, in characters. */
const maxTurns = 20;
const maxChars = 20_000;

/** Gives a session that starts without its history (cold, though the thread has finished runs) the recent part of it. */
export const context = definePlugin({
  name: 'context',
  version: '1.0.0',
  register: (ctx) => ({
    async onBeforeInvoke(threadId, prompt, turn) {
      if (!lostHistory(turn)) return prompt;
      return withHistory(await ctx.threads.history(threadId, { limit: maxTurns }), prompt);
    },
  }),
});

export const lostHistory = (turn: PluginTurn): boolean => turn.path === 'cold' && turn.finishedRuns > 0;

/** The newest messages that fit, oldest first, quoted, then the prompt as it is. */
export function withHistory(history: HistoryMessage[], prompt: string): string {
  const kept: string[] = [];
  let chars = 0;
  for (const { role, text } of history.toReversed()) {
    const entry = quote(`${role}: ${text}`);
    chars += entry.length;
    if (chars > maxChars) break;
    kept.unshift(entry);
  }
  if (kept.length === 0) return prompt;
  return `> This conversation began earlier. Its last messages, for reference:\n${kept.join('\n>\n')}\n\n${prompt}`;
}
