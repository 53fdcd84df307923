/** What the compose commands see of this shell: where programs and the engine are; no key, no model, no profile. */
export const engineEnv = (env = process.env): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] =>
        entry[1] !== undefined && /^(PATH|HOME|DOCKER_.*)$/.test(entry[0]),
    ),
  );
