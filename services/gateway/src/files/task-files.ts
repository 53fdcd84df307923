import { AppError } from '@harness/contracts';
import type { TaskFiles } from '@harness/plugins';
import type { FileStore } from '@harness/workspaces';

/** Reads the files of tasks in the store. */
export const taskFilesIn = (store: FileStore): TaskFiles => ({
  async list({ tenant, version }) {
    const { entries } = await store.of(tenant).manifest(version);
    return [...entries.values()].flatMap((entry) =>
      entry.kind === 'file' ? [{ path: entry.path, size: entry.size }] : [],
    );
  },
  async read({ tenant, version, path }, { offset, most }) {
    const { entry, stream } = await store.of(tenant).open(version, path);
    const { size } = entry;
    if (offset > size || (offset === size && size > 0))
      throw new AppError('range_not_satisfiable', `${path} has ${size} bytes.`);
    const end = Math.min(size, offset + most) - 1;
    const chunks = size === 0 ? [] : await (await stream({ start: offset, end })).toArray();
    return { bytes: Buffer.concat(chunks as Buffer[]), size };
  },
});
