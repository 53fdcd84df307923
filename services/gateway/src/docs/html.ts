/** HTML that may stand in a page as it is; everything else is text and is escaped. */
export interface Html {
  readonly html: string;
}

export type Content = Html | string | number | false | undefined | readonly Content[];

/** The only way to make HTML: what is interpolated is escaped, unless it is Html itself. False and undefined are nothing. */
export const html = (parts: TemplateStringsArray, ...values: Content[]): Html => ({
  html: String.raw({ raw: parts }, ...values.map(textOf)),
});

function textOf(content: Content): string {
  if (content === undefined || content === false) return '';
  if (typeof content === 'object') return 'html' in content ? content.html : content.map(textOf).join('');
  return String(content).replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Text in which `code` is marked by backticks. */
export const prose = (text: string): Html =>
  html`${text.split('`').map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : part))}`;

export const joined = (contents: readonly Content[], by: Content): Html =>
  html`${contents.map((content, at) => (at === 0 ? content : html`${by}${content}`))}`;
