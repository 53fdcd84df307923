import { randomUUID } from 'node:crypto';
import type { PluginDefinition } from '@harness/plugin-kit';
import { type Gateway, type GatewayOptions, openGateway } from './fixture.ts';
import { createPlay, type Play } from './play-plugin.ts';

export interface Replica extends Gateway {
  play: Play;
}

/** Gateways of one installation, each with tools that know on which gateway they run. */
export async function openReplicas<const StreamSlots extends readonly string[]>(
  places: StreamSlots,
  options: GatewayOptions & { more?: readonly PluginDefinition[] } = {},
): Promise<{ [Index in keyof StreamSlots]: Replica }> {
  const { more = [], ...rest } = options;
  const tag = randomUUID();
  const opening = places.map(async (place) => {
    const play = createPlay(place);
    return { ...(await openGateway({ tag, plugins: [play.plugin, ...more], ...rest })), play };
  });
  return (await Promise.all(opening)) as { [Index in keyof StreamSlots]: Replica };
}
