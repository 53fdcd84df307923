/**
 * Mail that the system writes quotes foreign text behind `> `, so that a reader (a model, scripted-model, a person)
 * can tell what a result or a reviewer says from what the system says.
 */
export const quote = (text: string): string =>
  text
    .split('\n')
    .map((line) => `> ${line}`)
    .join('\n');
