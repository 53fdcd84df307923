/**
 * Characters that a model reads and a person does not see: whole instructions can hide in Unicode tags, and bidi
 * controls show a text in another order than it is read in. Names and descriptions of tools have no use for them.
 */

/** Where the first one is; undefined = none. `text` may be any JSON value: all its strings and keys are looked at. */
export function invisibleIn(text: unknown): string | undefined {
  if (typeof text === 'string') return invisibleInString(text);
  if (typeof text !== 'object' || text === null) return undefined;
  for (const [key, value] of Object.entries(text)) {
    const found = invisibleInString(key) ?? invisibleIn(value);
    if (found) return `${found} in ${JSON.stringify(key).replace(unseen, '?')}`;
  }
  return undefined;
}

function invisibleInString(text: string): string | undefined {
  if (visibleAscii.test(text)) return undefined;
  // Not removed but replaced by its first character, so that what stands around it does not come together.
  const [found] = unseen.exec(text.replace(emoji, '.')) ?? [];
  return found && `U+${(found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}

/** Nearly all texts: nothing more needs to be looked at. */
const visibleAscii = /^[\t\n\r\x20-\x7e]*$/;

/** Emoji have joiners, selectors and (three flags) tags within; these are seen. */
const emoji = /\p{RGI_Emoji}|\p{Emoji}[\ufe0e\ufe0f]/gv;

/** Format characters, controls but tab and line ends, lone surrogates, and whatever fonts are told to draw as nothing. */
const unseen = /[[\p{Cf}\p{Cc}\p{Cs}\p{Default_Ignorable_Code_Point}\u2028\u2029]--[\t\n\r]]/v;
