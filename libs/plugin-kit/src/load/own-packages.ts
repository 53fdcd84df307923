import { registerHooks } from 'node:module';

const own = /^(@harness\/plugin-kit|zod)(\/|$)/;
let isOffered = false;

/**
 * Lets code that lies anywhere (a mounted folder of plugins or skills) import plugin-kit and zod by name: its own copy
 * where it has one, else the host's.
 */
export function offerOwnPackages(): void {
  if (isOffered) return;
  isOffered = true;
  registerHooks({
    resolve(specifier, context, next) {
      try {
        return next(specifier, context);
      } catch (error) {
        if (!own.test(specifier)) throw error;
        return next(specifier, { ...context, parentURL: import.meta.url });
      }
    },
  });
}
