import { useQuery } from '@tanstack/react-query';
import { get } from '../../lib/api.ts';
import { useCan } from '../../lib/session.ts';

/** Something that the typed line may become. */
export interface Completion {
  /** The whole line. */
  line: string;
  name: string;
  about: string;
}

interface Named {
  name: string;
  description: string;
  argumentHint?: string;
}

const staleTime = 10_000;

/** What a line that begins with a slash may become: commands; after /use skills, after /agent agents. */
export function useCompletion(text: string): Completion[] {
  const can = useCan();
  const found = /^\/([a-z0-9-]*)(?: +(\S*))?$/.exec(text);
  const [, name = '', argument] = found ?? [];
  const isCommand = found !== null && argument === undefined;
  const wants = (command: string) => found !== null && argument !== undefined && name === command;
  const { data: commands } = useQuery({
    queryKey: ['commands'],
    queryFn: () => get<{ commands: Named[] }>('/v1/commands'),
    enabled: isCommand,
    staleTime,
  });
  const { data: skills } = useQuery({
    queryKey: ['skills'],
    queryFn: () => get<{ skills: Named[] }>('/v1/skills'),
    enabled: wants('use') && can('tools'),
    staleTime,
  });
  const { data: agents } = useQuery({
    queryKey: ['agents'],
    queryFn: () => get<{ agents: Named[] }>('/v1/agents'),
    enabled: wants('agent'),
    staleTime,
  });
  const completionsOf = (items: readonly Named[] | undefined, lead: string, part: string): Completion[] =>
    (items ?? [])
      .filter((item) => item.name.startsWith(part))
      .map((item) => ({
        line: `${lead}${item.name} `,
        name: `${lead}${item.name}${item.argumentHint ? ` ${item.argumentHint}` : ''}`,
        about: item.description,
      }));
  if (isCommand) return completionsOf(commands?.commands, '/', name);
  if (wants('use')) return completionsOf(skills?.skills, '/use ', argument ?? '');
  if (wants('agent')) return completionsOf(agents?.agents, '/agent ', argument ?? '');
  return [];
}
