import { envInteger } from './config.ts';

const day = 86_400_000;

/** Variables of limits that gateways and workers must agree on: part of the configuration of both. */
export const envFleetLimits = {
  HARNESS_RETENTION_MS: envInteger(60_000, 10 * 365 * day).optional(),
  /** The bus: time to acknowledge an assignment, ms. */
  HARNESS_BUS_ACK_MS: envInteger(100, day).optional(),
  /** The bus: time from heartbeat to heartbeat, ms. */
  HARNESS_BUS_HEARTBEAT_MS: envInteger(100, 30 * day).optional(),
  /** The bus: time to end a task without any heartbeat, ms. */
  HARNESS_BUS_SILENCE_MS: envInteger(100, 30 * day).optional(),
  /** The bus: lost assignments after which a task is dead. */
  HARNESS_BUS_MAX_LOSSES: envInteger(1, 1_000).optional(),
};

const names = {
  HARNESS_RETENTION_MS: 'retentionMs',
  HARNESS_BUS_ACK_MS: 'busAckMs',
  HARNESS_BUS_HEARTBEAT_MS: 'busHeartbeatMs',
  HARNESS_BUS_SILENCE_MS: 'busSilentMs',
  HARNESS_BUS_MAX_LOSSES: 'busMaxLosses',
} as const satisfies Record<keyof typeof envFleetLimits, string>;

type Limit = (typeof names)[keyof typeof names];

/** The limits that are set, by their names in dispatch. */
export function fleetLimitsOf(
  config: Readonly<Partial<Record<keyof typeof names, number | undefined>>>,
): Partial<Record<Limit, number>> {
  const set = Object.entries(names).flatMap(([variable, limit]) => {
    const value = config[variable as keyof typeof names];
    return value === undefined ? [] : [[limit, value]];
  });
  return Object.fromEntries(set);
}
