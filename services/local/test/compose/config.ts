/** The environment of the compose commands: the paths of programs and of the engine; no key, model or profile. */
export const engineEnv = (env = process.env): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] =>
        entry[1] !== undefined && /^(PATH|HOME|DOCKER_.*)$/.test(entry[0]),
    ),
  );
