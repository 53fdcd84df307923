/** The MCP skills extension (SEP-2640), with the same skills that are offered as tools. */
import { AppError } from '@harness/contracts';
import { type Skill, skillUriOf } from '@harness/plugins';
import { requireScope } from '../http/credentials/authenticate.ts';
import type { McpRequest, Methods } from './methods.ts';

/** Name of the extension among the capabilities. */
export const skillsExtension = 'io.modelcontextprotocol/skills';

/** Methods of the extension. */
export const skillMethods = ['skills/list', 'skills/get', 'resources/directory/read'] as const;

/** Clients may cache lists: subscribers are notified of each change. */
const cacheHint = { ttlMs: 60_000, cacheScope: 'private' };
const directoryType = 'inode/directory';

/** Creates the handlers of the extension. `skillsOf` returns the current skills of a tenant. */
export function createSkillMethods(skillsOf: (tenant: string) => readonly Skill[]): Methods {
  const usable = ({ caller }: McpRequest) => skillsOf(caller.principal.tenant);
  const asked = ({ caller, params }: McpRequest) => {
    requireScope(caller, 'tools');
    return String(params.uri);
  };
  return {
    'skills/list'(request) {
      asked(request);
      return { skills: usable(request).map(entryOf), ...cacheHint };
    },
    'skills/get'(request) {
      const uri = asked(request);
      const skill = usable(request).find((one) => skillUriOf(one, 'SKILL.md') === uri);
      if (!skill)
        throw new AppError(
          'resource_not_found',
          `There is no skill at "${uri}". skills/list lists the skills.`,
          { details: { uri } },
        );
      return { skill: entryOf(skill), ...cacheHint };
    },
    'resources/directory/read'(request) {
      const uri = asked(request);
      for (const skill of usable(request)) {
        const children = childrenOf(skill, uri.replace(/\/$/, ''));
        if (children) return { resources: children, ...cacheHint };
      }
      throw new AppError('invalid_request', `"${uri}" is not a directory.`, { details: { uri } });
    },
  };
}

const entryOf = (skill: Skill) => ({
  uri: skillUriOf(skill, 'SKILL.md'),
  frontmatter: skill.frontMatter,
  resources: skill.files.map(({ path, digest, size }) => ({ uri: skillUriOf(skill, path), digest, size })),
});

/** The direct children of a directory of the skill; undefined if the URI is not one of its directories. */
function childrenOf(skill: Skill, uri: string) {
  const root = `skill://${skill.name}`;
  const directories = new Set(
    skill.files.flatMap(({ path }) => {
      const parts = path.split('/').slice(0, -1);
      return parts.map((_, i) => parts.slice(0, i + 1).join('/'));
    }),
  );
  const uriOfDirectory = (path: string) => skillUriOf(skill, path);
  const at = uri === root ? '' : [...directories].find((path) => uriOfDirectory(path) === uri);
  if (at === undefined) return undefined;
  const isChild = (path: string) =>
    (at === '' || path.startsWith(`${at}/`)) && !path.slice(at === '' ? 0 : at.length + 1).includes('/');
  const nameOf = (path: string) => path.split('/').at(-1) as string;
  return [
    ...[...directories]
      .filter(isChild)
      .map((path) => ({ uri: uriOfDirectory(path), name: nameOf(path), mimeType: directoryType })),
    ...skill.files
      .filter(({ path }) => isChild(path))
      .map(({ path, size }) => ({
        uri: skillUriOf(skill, path),
        name: nameOf(path),
        size,
        ...(path.endsWith('.md') ? { mimeType: 'text/markdown' } : {}),
      })),
  ];
}
