import { defineConfig } from 'vitest/config';
import { LongestFirst } from './services/local/test/longest-first.ts';

/** Long limits: a test fails when something never happens, not when a busy machine is slow. */
const patient = { expect: { poll: { timeout: 10_000, interval: 25 } } };
/** No module keeps state, so test files may share a process, which loads each module once: at most two thirds of the time. */
const shared = { isolate: false };
const withRedis = {
  ...patient,
  globalSetup: ['libs/runtime/test/redis-setup.ts'],
  testTimeout: 30_000,
  hookTimeout: 60_000,
};
const inTest = (kind: string) => [`{libs,services}/*/test/${kind}/**/*.test.ts`];

/**
 * Projects, by what a test needs:
 * unit = nothing that waits;
 * integration = a real Redis, processes, a watched folder, a broken connection;
 * security = attacks: foreign tenants, forged credentials, limits, secrets (needs a real Redis);
 * e2e = the real Agent SDK against scripted-model, too;
 * conformance = the official MCP suites against three gateways (`npm run conformance`);
 * faults = real processes that are killed, stopped and cut off; FAULT_SEED repeats a run (`npm run test:faults`);
 * compose = a Docker engine (run by `npm run test:compose` alone).
 */
export default defineConfig({
  test: {
    reporters: ['default', './services/local/test/slowest-reporter.ts'],
    sequence: { sequencer: LongestFirst },
    // For --changed, which follows imports: tests read these files themselves, so a change of one runs all of them.
    forceRerunTriggers: ['**/*.{lua,md,txt,yaml,json,jsonl,svg,css}', '**/vitest.config.ts'],
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{libs,services}/*/src/**/*.test.ts'],
          ...patient,
          ...shared,
          testTimeout: 20_000,
          maxWorkers: 3,
        },
      },
      {
        test: {
          name: 'integration',
          include: inTest('integration'),
          ...withRedis,
          ...shared,
          maxWorkers: 3, // they wait half of their time; one number for all of a group
        },
      },
      {
        test: {
          name: 'security',
          include: inTest('security'),
          ...withRedis,
          ...shared,
          maxWorkers: 3, // they wait half of their time; one number for all of a group
        },
      },
      {
        test: {
          name: 'e2e',
          include: inTest('e2e'),
          ...withRedis,
          ...shared,
          testTimeout: 60_000,
          maxWorkers: 2, // they wait more than they work
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: 'faults',
          include: inTest('faults'),
          ...patient,
          ...shared,
          testTimeout: 240_000, // one fault after another
          maxWorkers: 2,
          sequence: { groupOrder: 2 }, // after all others: its time limits are its subject
        },
      },
      {
        test: {
          name: 'conformance',
          include: inTest('conformance'),
          ...patient,
          ...shared,
          testTimeout: 120_000,
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: 'compose',
          include: inTest('compose'),
          testTimeout: 600_000,
        },
      },
    ],
  },
});
