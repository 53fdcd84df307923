import { echoPlugin } from './echo-tools.ts';

export const plugin = echoPlugin(500);
