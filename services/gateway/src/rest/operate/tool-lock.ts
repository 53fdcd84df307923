import type { ToolLockState } from '@harness/contracts';
import { compareWithLock, type LockedPart, lockedPartsOf, type ToolLock } from '@harness/plugin-kit';
import type { FastifyInstance } from 'fastify';
import type { RouteDeps } from '../../app-deps.ts';
import { answers, refTo } from '../../openapi/schemas.ts';

/** Adds GET /v1/tool-lock. */
export function addToolLockRoute(app: FastifyInstance, { plugins, toolLock }: RouteDeps): void {
  app.get(
    '/v1/tool-lock',
    {
      config: { scope: 'admin' },
      schema: {
        tags: ['tools'],
        operationId: 'getToolLock',
        summary: 'What differs from the tool lock: what a person accepted, and what is offered now',
        response: answers({ 200: refTo('ToolLockState') }),
      },
    },
    async (): Promise<ToolLockState> => {
      if (!toolLock) return { mode: 'off', differences: [] };
      const { lock, enforce } = toolLock;
      const { drifted, unknown, missing } = compareWithLock(lockedPartsOf(plugins.plugins), lock);
      return {
        mode: enforce ? 'enforce' : 'report',
        differences: [
          ...drifted.map((part) => differenceOf(part, 'changed', lock)),
          ...unknown.map((part) => differenceOf(part, 'new', lock)),
          ...missing.map(({ kind, name }) => ({
            kind,
            name,
            plugin: null,
            difference: 'missing' as const,
            accepted: lock[kind]?.[name] ?? null,
            offered: null,
          })),
        ],
      };
    },
  );
}

const differenceOf = (part: LockedPart, difference: 'changed' | 'new', lock: ToolLock) => {
  const { kind, name, pluginName, version, sha256 } = part;
  return {
    kind,
    name,
    plugin: pluginName,
    difference,
    accepted: difference === 'changed' ? (lock[kind]?.[name] ?? null) : null,
    offered: { version, sha256, seen: seenOf(part.part) },
  };
};

/** What a client sees of a part, as its author wrote it: its data, without functions. */
const seenOf = (part: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(part).filter(([, value]) => typeof value !== 'function'));
