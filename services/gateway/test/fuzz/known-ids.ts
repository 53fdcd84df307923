import fc from 'fast-check';
import type { Answer } from './judge.ts';

/** How many of the latest ids of each kind are kept. */
const maxKnown = 30;

/** Ids from responses, which later requests use. */
export interface KnownIds {
  /** Keeps the ids of a response. */
  note(answer: Answer): void;
  /** Values for a field; read when a value is drawn, so that it includes the ids known by then. */
  of(field: string): fc.Arbitrary<string> | undefined;
}

/** `start`: values by field that are known from the start. */
export function createKnownIds(start: Record<string, string[]>): KnownIds {
  const found = new Map(Object.entries(start).map(([field, values]) => [field, [...values]]));
  const add = (field: string, value: string) => {
    const values = found.get(field) ?? [];
    if (!values.includes(value)) values.push(value);
    found.set(field, values.slice(-maxKnown));
  };
  const walk = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [field, inner] of Object.entries(value)) {
      if (typeof inner === 'string' && inner.length < 200 && idFields.has(field)) add(field, inner);
      else walk(inner);
    }
  };
  return {
    note({ status, text, type }) {
      if (status < 300 && type.startsWith('application/json')) walk(JSON.parse(text));
    },
    of(field) {
      if (!idFields.has(field)) return undefined;
      const index = fc.nat(maxKnown - 1);
      const fallback = fc.stringMatching(/^[a-z]{1,8}$/);
      return fc.tuple(index, fallback).map(([at, other]) => {
        const values = found.get(field) ?? [];
        return values[at % Math.max(1, values.length)] ?? other;
      });
    },
  };
}

const idFields = new Set([
  'threadId',
  'runId',
  'taskId',
  'parentThreadId',
  'name',
  'worker',
  'plugin',
  'workerId',
  'workerName',
  'lease',
  'agent',
  'skill',
]);
