import { type DragEvent, type ReactNode, useRef, useState } from 'react';
import { messageOf } from '../../../lib/api.ts';
import { toast } from '../../../parts/toast.tsx';
import { uploadFiles } from './use-files.ts';

/** What uploading needs: where to, and what is there already. */
export interface UploadTarget {
  threadId: string;
  /** Path; '' is the workspace itself. */
  folder: string;
  exists(path: string): boolean;
}

/** Uploads files once a person agrees to replace what is there; `isUploading` meanwhile. Says what went wrong. */
export function useUpload({ threadId, folder, exists }: UploadTarget) {
  const [isUploading, setUploading] = useState(false);
  const upload = async (files: readonly File[]) => {
    if (files.length === 0) return;
    const known = files
      .map(({ name }) => (folder === '' ? name : `${folder}/${name}`))
      .filter((path) => exists(path));
    if (known.length > 0 && !window.confirm(`Replace ${known.join(', ')}?`)) return;
    setUploading(true);
    try {
      await uploadFiles(threadId, folder, files);
      toast(files.length === 1 ? 'The file is uploaded.' : `${files.length} files are uploaded.`);
    } catch (error) {
      toast(messageOf(error), 'bad');
    } finally {
      setUploading(false);
    }
  };
  return { isUploading, upload };
}

/** Opens the browser's choice of files. */
export function UploadButton(props: {
  folder: string;
  isUploading: boolean;
  onFiles(files: readonly File[]): Promise<void>;
}): ReactNode {
  const { folder, isUploading, onFiles } = props;
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <button
        type="button"
        disabled={isUploading}
        title="Files can be dropped here, too"
        onClick={() => input.current?.click()}
      >
        {isUploading ? 'Uploading…' : folder === '' ? 'Upload' : `Upload into ${folder}/`}
      </button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Files to upload"
        onChange={({ target }) => {
          const files = [...(target.files ?? [])];
          target.value = ''; // the same file can be chosen again
          void onFiles(files);
        }}
      />
    </>
  );
}

/** Takes files that are dropped on it. */
export function DropArea(props: {
  isOn: boolean;
  onFiles(files: readonly File[]): Promise<void>;
  children: ReactNode;
}): ReactNode {
  const { isOn, onFiles, children } = props;
  const [isOver, setOver] = useState(false);
  const onDragOver = (event: DragEvent) => {
    if (!isOn || !event.dataTransfer.types.includes('Files')) return;
    event.preventDefault();
    setOver(true);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the button does the same for the keyboard
    <div
      className={isOver ? 'page drop-over' : 'page'}
      onDragOver={onDragOver}
      onDragLeave={({ currentTarget, relatedTarget }) => {
        if (!currentTarget.contains(relatedTarget as Node | null)) setOver(false);
      }}
      onDrop={(event) => {
        if (!isOn) return;
        event.preventDefault();
        setOver(false);
        void onFiles([...event.dataTransfer.files]);
      }}
    >
      {children}
    </div>
  );
}
