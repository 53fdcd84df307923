/**
 * The sandboxes of a worker: each encloses the whole process of one session, with the built-in tools of the Agent SDK in it.
 *
 * A session in a sandbox has its own mounts, processes, network and users, a system that it can only read, and no capability. It
 * holds no secret: its only ways out are a socket to the model and its tools over standard input and output. The worker adds the credentials to both. Whatever the process says is untrusted, since its own tools can
 * change it.
 *
 * The command of a sandbox, its users and its limits are in libs/sandbox. This folder:
 *   enclosure.ts          the sandbox of one session
 *   run-bounded.ts        a program beside a session
 *   embedded-commands.ts  commands in the instructions of skills
 *   proxies/              how it reaches the model, the gateway, and hosts that the operator allows
 *   strays.ts             ends what tools left running
 *   bounded-lines.ts      the longest message of a session
 *   tool-rules.ts         which calls of built-in tools a run permits
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { AppError } from '@harness/contracts';
import type { Logger } from '@harness/runtime';
import {
  createExecutablePlace,
  createSandboxUsers,
  type Probed,
  type ProcessLimits,
  probeSandbox,
  type SandboxLevel,
  type SandboxLimits,
} from '@harness/sandbox';
import { type Enclosure, type EnclosureOf, openEnclosure } from './enclosure.ts';
import { modelEndpointOf, modelVariablesOf } from './proxies/model-endpoint.ts';
import { createModelProxies } from './proxies/model-proxy.ts';

/** The sandboxes of a worker. */
export interface Sandboxes {
  /** How they enclose sessions; `none`: there are none, for a reason. */
  readonly probed: Probed;
  /** Opens the sandbox of a session. Throws `workspace_refused`. */
  open(session: EnclosureOf): Promise<Enclosure>;
  close(): void;
}

/** What the sandboxes of a worker need. */
export interface SandboxesDeps {
  /** A folder of the worker that is deleted with it. */
  root: string;
  modelEnv: Readonly<Record<string, string>>;
  limits: ProcessLimits & SandboxLimits;
  /** Hosts that sandboxes reach, by an HTTP proxy; empty = none. */
  egress: readonly string[];
  /** The environment's PATH. */
  path: string;
  /** How sessions are enclosed; auto = as strictly as this machine permits. */
  wanted: SandboxLevel | 'auto';
  logger: Logger;
}

/** Probes the machine, and creates the sandboxes. */
export async function createSandboxes(deps: SandboxesDeps): Promise<Sandboxes> {
  const { root, modelEnv, limits, path, logger } = deps;
  const users = createSandboxUsers();
  const endpoint = modelEndpointOf(modelEnv);
  const probed: Probed =
    'refused' in endpoint
      ? { level: 'none', reason: endpoint.refused }
      : await probeSandbox({ ...deps, users });
  if (probed.level === 'none')
    logger.warn({ reason: probed.reason }, 'no sandbox: threads have no workspaces at this worker');
  else logger.info({ sandbox: probed.level }, 'sessions with a workspace run in a sandbox');
  const proxies = 'refused' in endpoint ? undefined : createModelProxies(endpoint, logger);
  const place = createExecutablePlace(join(root, 'bin'));
  const modelVariables = modelVariablesOf(modelEnv);
  return {
    probed,
    async open(session) {
      if (probed.level === 'none' || !proxies)
        throw new AppError(
          'workspace_refused',
          `This worker has no sandbox: ${'reason' in probed ? probed.reason : 'no model'}.`,
        );
      const user = users.take();
      const egress = { hosts: deps.egress };
      const parts = {
        level: probed.level,
        proxies,
        root,
        place,
        modelVariables,
        limits,
        path,
        egress,
        logger,
      };
      try {
        return await openEnclosure({ name: `x${randomBytes(5).toString('hex')}`, ...session, user }, parts);
      } catch (error) {
        user?.release();
        throw error;
      }
    },
    close: () => proxies?.close(),
  };
}
