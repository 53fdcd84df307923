import { quote } from '@harness/contracts';
import { definePlugin, type HistoryMessage, type PluginTurn } from '@harness/plugin-kit';

/** How much history a cold session gets: messages, and characters in total. */
const maxTurns = 20;
const maxChars = 20_000;

/** Puts recent history before the prompt of a session that has lost it: cold, although the thread has finished runs. */
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

/** Whether the turn's session has started without the thread's history. */
export const lostHistory = (turn: PluginTurn): boolean => turn.path === 'cold' && turn.finishedRuns > 0;

/** The newest messages that fit, quoted and oldest first, then the unchanged prompt. */
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
