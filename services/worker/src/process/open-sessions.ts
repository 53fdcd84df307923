import { useTempDir } from '../config.ts';
import { createSandboxes } from '../sandbox/sandboxes.ts';
import { createSessionOpener } from '../session/open-session.ts';
import { processesFor, sessionLimitOf } from '../session/pool/session-limit.ts';
import { createSessionPool } from '../session/pool/session-pool.ts';
import { createSpares } from '../session/pool/spares.ts';
import { openSessionHomes } from '../session/session-home.ts';
import { createThreadSlots } from '../session/thread-slots.ts';
import { searchesFor } from '../session/tool-search.ts';
import type { Base } from './base.ts';
import { startLeash } from './hold-leash.ts';

/**
 * Share of the liveness TTL after which the agents of an unresponsive worker are killed: before others may
 * take its threads.
 */
const leashShare = 0.8;

/** What the second step of the start has opened. */
export type Sessions = Awaited<ReturnType<typeof openSessions>>;

/** Step 2 of the start: what starts and holds agent processes. */
export async function openSessions({ config, dispatch, logger, mcpUrl, status, metrics }: Base) {
  const homes = await openSessionHomes();
  useTempDir(homes.root);
  const leash = startLeash({ limitMs: config.HARNESS_WORKER_TTL_MS * leashShare, logger });
  const sandboxes =
    config.workspaces &&
    (await createSandboxes({
      root: homes.root,
      modelEnv: config.sessionEnv,
      limits: config.sandboxLimits,
      egress: config.HARNESS_EGRESS,
      path: config.path,
      wanted: config.HARNESS_SANDBOX,
      logger,
    }));
  const sandbox = sandboxes?.probed ?? { level: 'off' as const };
  status.sandbox = sandbox;
  metrics.nameSandbox(sandbox.level);
  const opener = createSessionOpener({
    homes,
    sandboxes,
    logger,
    mcpUrl,
    modelEnv: config.sessionEnv,
    path: config.path,
    executable: config.HARNESS_AGENT_EXECUTABLE,
    startsAtOnce: config.startsAtOnce,
    onProcess: leash.hold,
  });
  const maxSessions = () =>
    sessionLimitOf(config.HARNESS_MAX_SESSIONS, opener.living(), process.availableMemory());
  const slots = createThreadSlots();
  /** Set once the worker has been created. */
  const evicted: { notify(key: string): void } = { notify: () => undefined };
  const pool = createSessionPool(
    {
      maxSessions,
      idleTtlMs: config.HARNESS_SESSION_TTL_MS,
      onEvict: (key) => evicted.notify(key),
    },
    slots,
  );
  const spares = createSpares({
    // A spare has no sandbox.
    wanted: config.workspaces?.mode === 'on' ? 0 : config.HARNESS_SPARES,
    processesLeft: () => processesFor(process.availableMemory()) - 1, // keeps one slot for a thread that needs a session
    logger,
    async open() {
      const searches = await searchesFor(undefined, dispatch);
      const model = config.HARNESS_DEFAULT_MODEL;
      const profile = { model, systemPrompt: undefined, tools: undefined, searches };
      return opener.open({ name: 'spare', profile, store: 'later' });
    },
  });
  return { homes, sandboxes, sandbox, leash, opener, slots, pool, spares, maxSessions, evicted };
}
