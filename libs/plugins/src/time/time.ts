import { definePlugin, defineTool } from '@harness/plugin-kit';
import { z } from 'zod';

const input = z.strictObject({
  timezone: z.string().min(1).max(64).optional().describe('IANA name, e.g. Europe/Berlin; default UTC'),
});

/** The built-in plugin `time`, because models do not know the current time. */
export const time = definePlugin({
  name: 'time',
  version: '1.0.0',
  tools: [
    defineTool({
      name: 'current_time',
      title: 'Current time',
      description: 'The current date and time, in UTC and in a time zone.',
      input,
      annotations: { readOnlyHint: true },
      handler: (_ctx, { timezone = 'UTC' }) => timeIn(timezone, new Date()),
    }),
  ],
  register: () => ({}),
});

/** E.g. `2026-11-21T08:00:00.000Z is Saturday, 21 November 2026 at 09:00:00 CET`. Throws for an unknown zone. */
export function timeIn(timeZone: string, now: Date): string {
  const local = formatterOf(timeZone).format(now);
  return `${now.toISOString()} is ${local}`;
}

function formatterOf(timeZone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat('en-GB', { timeZone, dateStyle: 'full', timeStyle: 'long' });
  } catch (cause) {
    throw new Error(`"${timeZone}" is not a time zone; use an IANA name such as Europe/Berlin.`, { cause });
  }
}
