import type { Plugin, ToolLockState } from '@harness/contracts';
import { useQuery } from '@tanstack/react-query';
import { get } from '../../lib/api.ts';

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

/** Why something did not load, or differs from the lock. */
export interface Diagnostic {
  source: string;
  level: 'error' | 'warning';
  message: string;
}

const refetchInterval = 5_000;

/** Tools, plugins, skills and agents as they are now, and what is wrong with others. */
export function useTools(isAdmin: boolean) {
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
  const lock = useQuery({
    queryKey: ['tool-lock'],
    queryFn: () => get<ToolLockState>('/v1/tool-lock'),
    refetchInterval,
    enabled: isAdmin,
  });
  const diagnostics = [...(plugins.data?.diagnostics ?? []), ...(skills.data?.diagnostics ?? [])];
  return {
    tools: tools.data?.tools,
    plugins: plugins.data?.plugins ?? [],
    skills: skills.data?.skills ?? [],
    lock: lock.data,
    diagnostics,
    error: tools.error ?? plugins.error ?? skills.error ?? lock.error,
  };
}
