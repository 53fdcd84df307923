/** Names of the variables of a URI template (RFC 6570). */
export const variablesOf = (template: string): string[] =>
  [...template.matchAll(/\{[+#./;?&]?([^}]*)\}/g)].flatMap(([, names = '']) =>
    names.split(',').map((name) => name.replace(/\*$|:\d+$/, '').trim()),
  );

/**
 * Whether a URI may be one of a template: its fixed parts occur in order. More than RFC 6570 would allow, because the upstream
 * decides in the end; and in linear time, because the upstream has written the template.
 */
export function matchesTemplate(uri: string, template: string): boolean {
  const [first = '', ...rest] = template.split(/\{[^}]*\}/);
  const last = rest.pop();
  if (last === undefined) return uri === template;
  if (!uri.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = uri.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return uri.length - at >= last.length && uri.endsWith(last);
}

/** Whether a URI, or the template of one, has the scheme of this gateway. */
export const isOwnUri = (uri: string): boolean => /^harness:/i.test(uri);

/** Why a template is not used; undefined for one that is. */
export function templateProblemOf(template: string): string | undefined {
  if (isOwnUri(template)) return 'the scheme "harness" is that of this gateway';
  // Such a template matches the resources of all others.
  return /^[a-z][a-z0-9+.-]*:/i.test(template)
    ? undefined
    : 'it does not begin with a fixed scheme, like "file:"';
}
