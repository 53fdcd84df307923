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

test('the lock names its holder, and a release leaves no file', () => {
  const lock = lockFolder(folder);
  expect(holderPid()).toBe(process.pid);
  lock.release();
  expect(readdirSync(folder)).toEqual([]);
});

test('a running holder is named with its start time', () => {
  const startedAt = '2025-01-02T03:04:05.678Z';
  writeFileSync(path, JSON.stringify({ ...describeHolder(process.ppid), startedAt }));
  expect(() => lockFolder(folder)).toThrow(`process ${process.ppid} holds ${folder} since ${startedAt}`);
  expect(holderPid()).toBe(process.ppid);
});

test.each([
  ['a dead process', () => JSON.stringify(describeHolder(deadPid()))],
  ['an earlier process of the same pid', () => JSON.stringify({ ...describeHolder(1), born: 'before' })],
  ['an incomplete file (crash)', () => '{"pid": 1'],
  ['an empty file', () => ''],
])('a lock held by %s is taken over', (_who, text) => {
  writeFileSync(path, text());
  const lock = lockFolder(folder);
  expect(holderPid()).toBe(process.pid);
  lock.release();
});

test('a release does not remove a lock of another holder', () => {
  const lock = lockFolder(folder);
  writeFileSync(path, JSON.stringify(describeHolder(process.ppid)));
  lock.release();
  expect(holderPid()).toBe(process.ppid);
});
