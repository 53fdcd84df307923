/**
 * Quotes text behind `> `. In mail of the system, foreign text is quoted so that its reader can distinguish it from
 * statements of the system.
 */
export const quote = (text: string): string =>
  text
    .split('\n')
    .map((line) => `> ${line}`)
    .join('\n');
