import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeHolder, lockFolder } from './lock.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'harness-lock-'));
  path = join(folder, 'lock');
});
afterEach(() => rmSync(folder, { recursive: true }));

const holderPid = () => JSON.parse(readFileSync(path, 'utf8')).pid as number;
const deadPid = () => spawnSync(process.execPath, ['--version']).pid;

test('the lock names its holder, and leaves nothing behind after its release', () => {
  const lock = lockFolder(folder);
  expect(holderPid()).toBe(process.pid);
  lock.release();
  expect(readdirSync(folder)).toEqual([]);
});

test('a living holder is named, with since when', () => {
  const startedAt = '2025-01-02T03:04:05.678Z';
  writeFileSync(path, JSON.stringify({ ...describeHolder(process.ppid), startedAt }));
  expect(() => lockFolder(folder)).toThrow(`process ${process.ppid} holds ${folder} since ${startedAt}`);
  expect(holderPid()).toBe(process.ppid);
});

test.each([
  ['a dead process', () => JSON.stringify(describeHolder(deadPid()))],
  ['an earlier process of the same pid', () => JSON.stringify({ ...describeHolder(1), born: 'before' })],
  ['nobody (torn by a crash)', () => '{"pid": 1'],
  ['nobody (empty)', () => ''],
])('a lock held by %s is taken over', (_who, text) => {
  writeFileSync(path, text());
  const lock = lockFolder(folder);
  expect(holderPid()).toBe(process.pid);
  lock.release();
});

test('a release leaves a lock alone that is no longer its own', () => {
  const lock = lockFolder(folder);
  writeFileSync(path, JSON.stringify(describeHolder(process.ppid)));
  lock.release();
  expect(holderPid()).toBe(process.ppid);
});
