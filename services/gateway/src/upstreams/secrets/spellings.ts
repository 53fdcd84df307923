/** Every form in which a text may repeat a secret: as it is, within JSON, HTML and URLs, in hex and in base64. */
export function spellingsOf(given: string): string[] {
  const secret = given.toWellFormed();
  const json = JSON.stringify(secret).slice(1, -1);
  const ascii = json.replace(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  const url = encodeURIComponent(secret);
  const form = new URLSearchParams([['', secret]]).toString().slice(1);
  const hex = Buffer.from(secret).toString('hex');
  const encoded = [0, 1, 2].flatMap((before) => base64Of(secret, before));
  const all = [
    secret,
    json,
    JSON.stringify(json).slice(1, -1),
    json.replaceAll('/', '\\/'),
    ascii,
    JSON.stringify(ascii).slice(1, -1),
    ...['&#39;', '&#x27;'].map((quote) => htmlOf(secret, quote)),
    ...[url, form, encodeURI(secret)].flatMap((one) => [
      one,
      one.replace(/%../g, (part) => part.toLowerCase()),
    ]),
    hex,
    hex.toUpperCase(),
    ...encoded,
    ...encoded.map((one) => one.replaceAll('+', '-').replaceAll('/', '_')),
    ...encoded.map(encodeURIComponent),
  ];
  return [...new Set(all)];
}

const htmlOf = (secret: string, quote: string) =>
  secret
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", quote);

/**
 * The characters of base64 that only the secret decides, where so many bytes are before it; with none of them, which is a text that is
 * nothing but the secret, also its end.
 */
function base64Of(secret: string, before: number): string[] {
  const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(secret)]);
  const text = bytes.toString('base64');
  const inner = text.slice(Math.ceil((before * 4) / 3), Math.floor((bytes.length * 4) / 3));
  return before === 0 ? [text, text.replace(/=+$/, ''), inner] : [inner];
}
