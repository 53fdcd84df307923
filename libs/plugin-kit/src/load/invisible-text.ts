/**
 * Finds characters that a model reads but a person does not see. Unicode tags can hide whole instructions, and bidi
 * controls display a text in another order than it is read. Names and descriptions of tools do not need them.
 */

/**
 * Describes the first invisible character, e.g. `U+200B in "title"`; undefined = none. `text` may be any JSON value: all
 * its strings and keys are searched.
 */
export function invisibleIn(text: unknown): string | undefined {
  if (typeof text === 'string') return invisibleInString(text);
  if (typeof text !== 'object' || text === null) return undefined;
  for (const [key, value] of Object.entries(text)) {
    const found = invisibleInString(key) ?? invisibleIn(value);
    if (found) return `${found} in ${JSON.stringify(key).replace(unseen, '?')}`;
  }
  return undefined;
}

/** The text without the characters that `invisibleIn` would find. */
export const withoutInvisible = (text: string): string =>
  visibleAscii.test(text)
    ? text
    : text
        .split(emojiParts)
        // Parts with an odd index are the captured emoji.
        .map((part, at) => (at % 2 === 1 ? part : part.replace(allUnseen, '')))
        .join('');

function invisibleInString(text: string): string | undefined {
  if (visibleAscii.test(text)) return undefined;
  // Emoji are replaced, not removed, so that the characters around them do not combine.
  const [found] = unseen.exec(text.replace(emoji, '.')) ?? [];
  return found && `U+${(found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}

/** Fast path: nearly all texts match. */
const visibleAscii = /^[\t\n\r\x20-\x7e]*$/;

/** Emoji contain joiners, variation selectors and (in three flags) tags, which are visible as part of the emoji. */
const emoji = /\p{RGI_Emoji}|\p{Emoji}[\ufe0e\ufe0f]/gv;

const emojiParts = /(\p{RGI_Emoji}|\p{Emoji}[\ufe0e\ufe0f])/v;

/** Format characters, controls except tab and line ends, lone surrogates, and characters that fonts draw as nothing. */
const unseen = /[[\p{Cf}\p{Cc}\p{Cs}\p{Default_Ignorable_Code_Point}\u2028\u2029]--[\t\n\r]]/v;
const allUnseen = new RegExp(unseen.source, 'gv');
