import { registerHooks } from 'node:module';

const own = /^(@harness\/plugin-kit|zod)(\/|$)/;
let isOffered = false;

/**
 * Lets code in any folder (e.g. a mounted folder of plugins or skills) import plugin-kit and zod by name: its own copy
 * if it has one, otherwise the host's. Affects the whole process; later calls are no-ops.
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
