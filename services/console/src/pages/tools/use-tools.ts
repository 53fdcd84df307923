import type { Plugin, ToolLockState } from '@harness/contracts';
import { useQuery } from '@tanstack/react-query';
import { get } from '../../lib/api.ts';
import type { Diagnostic } from '../../lib/diagnostic.ts';
import type { Scope } from '../../lib/session.ts';

/** A tool as the gateway lists it. */
export interface Tool {
  name: string;
  title?: string;
  description: string;
  inputSchema: Record<string, unknown>;
  outputSchema?: Record<string, unknown>;
  annotations?: Record<string, unknown>;
}

/** A skill as the gateway lists it. */
export interface Skill {
  name: string;
  description: string;
  tool?: string;
  userInvocable: boolean;
  modelInvocable: boolean;
  context: 'inline' | 'fork';
  allowedTools?: string[];
  files: { path: string; size: number }[];
}

const refetchInterval = 5_000;

/** Tools, plugins and skills as they are now, the tool lock for `admin`, and what did not load (agents for `threads`). */
export function useTools(can: (scope: Scope) => boolean) {
  const tools = useQuery({
    queryKey: ['tools'],
    queryFn: () => get<{ tools: Tool[] }>('/v1/tools'),
    refetchInterval,
  });
  const plugins = useQuery({
    queryKey: ['plugins'],
    queryFn: () => get<{ plugins: Plugin[]; diagnostics: Diagnostic[] }>('/v1/plugins'),
    refetchInterval,
  });
  const skills = useQuery({
    queryKey: ['skills'],
    queryFn: () => get<{ skills: Skill[]; diagnostics: Diagnostic[] }>('/v1/skills'),
    refetchInterval,
  });
  const agents = useQuery({
    queryKey: ['agents'],
    queryFn: () => get<{ diagnostics: Diagnostic[] }>('/v1/agents'),
    refetchInterval,
    enabled: can('threads'),
  });
  const lock = useQuery({
    queryKey: ['tool-lock'],
    queryFn: () => get<ToolLockState>('/v1/tool-lock'),
    refetchInterval,
    enabled: can('admin'),
  });
  const diagnostics = [plugins, skills, agents].flatMap(({ data }) => data?.diagnostics ?? []);
  return {
    tools: tools.data?.tools,
    plugins: plugins.data?.plugins ?? [],
    skills: skills.data?.skills ?? [],
    lock: lock.data,
    diagnostics,
    error: tools.error ?? plugins.error ?? skills.error ?? agents.error ?? lock.error,
  };
}
