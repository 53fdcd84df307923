/**
 * Set-up, run before every npm script: installs what is missing and nothing else. Plain JavaScript without a
 * dependency, since it runs before there are any, on whatever Node (20 or later) the machine has.
 *
 *   node services/local/setup.mjs [--redis] [--console] [--browser] [--sandbox | --sandbox-if-asked]
 *     --redis    a redis-server is needed, too
 *     --console  the built console, too: it is built again when its sources are newer
 *     --browser  a Chromium, too, for tests
 *     --sandbox  bubblewrap, too, on Linux; without it workers refuse workspaces, and their tests are skipped;
 *                -if-asked: only with HARNESS_WORKSPACES
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');
const stamp = join(root, 'node_modules', '.harness-lock');
const lockHash = createHash('sha256')
  .update(readFileSync(join(root, 'package-lock.json')))
  .digest('hex');

const onPath = (name) =>
  (process.env.PATH ?? '').split(delimiter).some((dir) => dir !== '' && existsSync(join(dir, name)));

/** Prints what is wrong in one line, and exits. */
function giveUp(why) {
  console.error(`set-up: ${why}`);
  process.exit(1);
}

function run(command, args, options = {}) {
  return spawnSync(command, args, { cwd: root, stdio: 'inherit', ...options }).status === 0;
}

/** Whether the packages are up to date: by our stamp, or because npm's own list is newer than the lock file (npm was run by hand). */
function packagesInstalled() {
  if (!existsSync(join(root, 'node_modules', '.bin', 'node'))) return false;
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lockHash) return true;
  const listed = join(root, 'node_modules', '.package-lock.json');
  return existsSync(listed) && statSync(listed).mtimeMs >= statSync(join(root, 'package-lock.json')).mtimeMs;
}

function installPackages() {
  if (packagesInstalled()) return;
  console.error(
    'set-up: installing packages (about 850 MB on disk, most of it the Agent SDK’s own binary and Node 24)…',
  );
  const ticking = setProgress();
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const done = run(npm, ['ci', '--no-audit', '--no-fund', '--loglevel=error'], { env: withoutNpmConfig() });
  ticking.kill();
  if (!done) giveUp('npm ci failed; its message is above.');
  writeFileSync(stamp, lockHash);
}

/** A dot every two seconds from a process of its own, since this one waits for npm. */
function setProgress() {
  const script =
    'setInterval(() => process.stderr.write("."), 2000); setTimeout(() => process.exit(), 1_800_000)';
  return spawnDetached(process.execPath, ['-e', script]);
}

function spawnDetached(command, args) {
  const { spawn } = process.getBuiltinModule('node:child_process');
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  child.unref();
  return child;
}

/** npm hands its own settings to scripts as variables; a nested npm must not take them for the user's. */
function withoutNpmConfig() {
  const own = ([name]) => !/^npm_(config_(?!.*(registry|proxy|cafile|auth))|lifecycle|package)/i.test(name);
  return Object.fromEntries(Object.entries(process.env).filter(own));
}

const redisHelp = {
  darwin: 'brew install redis',
  linux: 'install it with your package manager (Debian, Ubuntu: sudo apt-get install redis-server)',
  win32: 'Redis does not run on Windows itself: use WSL, or docker compose',
};

const canInstallPackages = () => process.getuid?.() === 0 && existsSync('/usr/bin/apt-get');

function installRedis() {
  if (process.env.REDIS_URL || onPath('redis-server')) return;
  const help = redisHelp[process.platform] ?? 'install Redis 7 or later';
  if (!canInstallPackages()) giveUp(`redis-server is not on PATH: ${help}; or set REDIS_URL.`);
  if (!installDebianPackage('redis-server') || !onPath('redis-server'))
    giveUp(`redis-server could not be installed: ${help}.`);
}

function installDebianPackage(name) {
  console.error(`set-up: installing ${name} from the Debian packages…`);
  // A run level at which no service is started: we run our own, private ones.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  const quiet = { env, stdio: ['ignore', 'ignore', 'inherit'] };
  const install = ['install', '-y', '-qq', '--no-install-recommends', name];
  return (
    run('apt-get', install, quiet) ||
    (run('apt-get', ['update', '-qq'], quiet) && run('apt-get', install, quiet))
  );
}

function installBrowser() {
  if (process.env.CHROME_PATH || onPath('chromium')) return;
  const help = 'install Chromium, or set CHROME_PATH to a Chromium or Chrome';
  if (!canInstallPackages()) giveUp(`chromium is not on PATH, which the tests of the console need: ${help}.`);
  if (!installDebianPackage('chromium') || !onPath('chromium'))
    giveUp(`chromium could not be installed: ${help}.`);
}

const asksForWorkspaces = () => !['', 'off'].includes(process.env.HARNESS_WORKSPACES ?? '');

function installSandbox() {
  if (process.platform !== 'linux' || onPath('bwrap')) return;
  if (canInstallPackages() && installDebianPackage('bubblewrap')) return;
  console.error('set-up: bwrap is not on PATH: agents have no workspaces. Install the package bubblewrap.');
}

/** The time of the newest file in a folder, ms. */
const newestIn = (folder) =>
  Math.max(
    ...readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => statSync(join(parentPath, name)).mtimeMs),
  );

/** Builds the console, unless the build is newer than its sources and its packages. */
function buildConsole() {
  const folder = join(root, 'services', 'console');
  const built = join(folder, 'dist', 'index.html');
  const files = ['index.html', 'vite.config.ts', 'package.json'].map((name) => join(folder, name));
  const newest = Math.max(
    ...['src', 'public'].map((name) => newestIn(join(folder, name))),
    ...[...files, join(root, 'package-lock.json')].map((file) => statSync(file).mtimeMs),
  );
  if (existsSync(built) && statSync(built).mtimeMs >= newest) return;
  console.error('set-up: building the console…');
  const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js');
  const node = join(root, 'node_modules', '.bin', 'node');
  if (!run(node, [vite, 'build', folder, '--logLevel', 'warn']))
    giveUp('the console could not be built; the message is above.');
}

installPackages();
if (process.argv.includes('--redis')) installRedis();
if (process.argv.includes('--console')) buildConsole();
if (process.argv.includes('--browser')) installBrowser();
if (
  process.argv.includes('--sandbox') ||
  (process.argv.includes('--sandbox-if-asked') && asksForWorkspaces())
)
  installSandbox();
