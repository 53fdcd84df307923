/** A list of paths as a tree: folders first, in the order of their names. Pure. */
import type { ListedFile } from '@harness/contracts';

/** A folder or file. */
export interface TreeNode {
  path: string;
  name: string;
  kind: ListedFile['kind'];
  /** Bytes; of a folder, those of all files in it. */
  size: number;
  /** Of a folder: files and links in it, at any depth. */
  count: number;
  /** As it is listed; absent: a folder that only paths name. */
  file?: ListedFile;
  children: readonly TreeNode[];
}

/** A node that is shown. */
export interface TreeRow {
  node: TreeNode;
  /** From 1. */
  level: number;
  /** Its place among its siblings, from 1, and their number. */
  place: number;
  siblings: number;
  isOpen: boolean;
}

interface Draft extends TreeNode {
  children: Draft[];
}

/** The tree of a list: a root with an empty path. */
export function treeOf(files: readonly ListedFile[]): TreeNode {
  const folderAt = (path: string): Draft => ({
    path,
    name: path.slice(path.lastIndexOf('/') + 1),
    kind: 'dir',
    size: 0,
    count: 0,
    children: [],
  });
  const root = folderAt('');
  const folders = new Map([['', root]]);
  const folderOf = (path: string): Draft => {
    const known = folders.get(path);
    if (known) return known;
    const folder = folderAt(path);
    folders.set(path, folder);
    folderOf(parentOf(path)).children.push(folder);
    return folder;
  };
  for (const file of files) {
    if (file.kind === 'dir') {
      folderOf(file.path).file = file;
      continue;
    }
    const { path, kind, size = 0 } = file;
    folderOf(parentOf(path)).children.push({ ...folderAt(path), kind, size, file });
  }
  settle(root);
  return root;
}

/** The path of the folder that something lies in; '' is the workspace itself. */
export const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));

function settle(folder: Draft): void {
  for (const child of folder.children) {
    if (child.kind === 'dir') settle(child);
    folder.size += child.size;
    folder.count += child.kind === 'dir' ? child.count : 1;
  }
  const rank = ({ kind }: TreeNode) => (kind === 'dir' ? 0 : 1);
  folder.children.sort((one, other) => rank(one) - rank(other) || (one.name < other.name ? -1 : 1));
}

/** What is shown of a tree whose open folders are known, from top to bottom. */
export function rowsOf(root: TreeNode, isOpen: (path: string) => boolean): TreeRow[] {
  const rows: TreeRow[] = [];
  const add = (nodes: readonly TreeNode[], level: number) => {
    for (const [index, node] of nodes.entries()) {
      const opened = node.kind === 'dir' && isOpen(node.path);
      rows.push({ node, level, place: index + 1, siblings: nodes.length, isOpen: opened });
      if (opened) add(node.children, level + 1);
    }
  };
  add(root.children, 1);
  return rows;
}

/** The node at a path; undefined: there is none. */
export function nodeAt(root: TreeNode, path: string): TreeNode | undefined {
  let node: TreeNode | undefined = root;
  let end = -1;
  do {
    end = path.indexOf('/', end + 1);
    const upTo: string = end < 0 ? path : path.slice(0, end);
    node = node.children.find((child) => child.path === upTo);
  } while (node && end >= 0);
  return node;
}
