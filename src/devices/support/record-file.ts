import { randomUUID } from 'node:crypto'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type PlaceScope, systemScope } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { AppError, invalidField, notFound } from '../../platform/errors.ts'
import { type ReceivedFile, discardImage, keepImageFor, removeImage } from '../../platform/images/image-files.ts'
import type { CommandState } from '../tables.ts'
import { type SupportTicket, type UploadTicket, expired } from './file-url.ts'
import type { SupportCommand, SupportSource } from './source.ts'
import { type FilesOf, deleteSupportFileRow, insertSupportFile } from './store.ts'
import type { SupportFiles } from './support-files.ts'

/** The command of an upload, and its place. */
export interface AwaitedCommand extends SupportCommand {
  readonly source: SupportSource
}

async function getCommand(
  ctx: Context,
  sources: readonly SupportSource[],
  { orgId, commandId }: SupportTicket,
): Promise<AwaitedCommand> {
  for (const source of sources) {
    const command = await source.findCommand(ctx.db, systemScope('gateway', orgId), commandId)
    if (command !== undefined) return { ...command, source }
  }
  throw notFound(commandId)
}

/** The states of a command whose machine may be uploading: it may continue after its connection was lost. */
const uploading: ReadonlySet<CommandState> = new Set(['sent', 'done', 'unknown'])

/**
 * Returns the command of an upload, before the file is read. An agent that was away may repeat its command when the address has
 * expired, and must not report that it failed if its file is there.
 * @throws AppError not_found if the command does not exist or was not sent; forbidden if the address has expired, or if the
 *   command already has its file, and its machine does not repeat commands.
 */
export async function getAwaitedCommand(
  ctx: Context,
  sources: readonly SupportSource[],
  ticket: UploadTicket,
): Promise<AwaitedCommand> {
  const command = await getCommand(ctx, sources, ticket)
  const { state, file, mayRepeat } = command
  if (!uploading.has(state)) throw notFound(ticket.commandId)
  if (ticket.hasExpired && (file === null || state === 'done')) throw expired()
  if (file !== null && !mayRepeat) throw usedUp()
  return command
}

/**
 * Stores the file that a machine has uploaded, with an audit record. The file is deleted if this throws, and if another
 * upload was faster.
 * @throws AppError invalid (empty); forbidden if the command no longer exists, or if another upload was faster and the
 *   machine does not repeat commands.
 */
export async function recordSupportFile(
  ctx: Context,
  ticket: SupportTicket,
  {
    files,
    command,
    received,
  }: {
    readonly files: SupportFiles
    readonly command: AwaitedCommand
    readonly received: ReceivedFile
  },
): Promise<void> {
  const { orgId, commandId } = ticket
  const { source, machine, title, siteId, deviceId } = command
  const { sizeBytes: bytes } = received
  if (bytes === 0) {
    await discardImage(received)
    throw invalidField('data', 'is empty')
  }
  const name = randomUUID()
  const scope = systemScope('gateway', orgId)
  const isStored = await keepImageFor(files, { ...received, name }, () =>
    inTx(ctx, async (tx) => {
      const at = ctx.clock.now()
      const isThere = await source.shareCommand(tx, scope, commandId)
      if (!isThere) throw usedUp()
      const file = { commandId, ofMxedge: source.ofMxedge, name, bytes, at }
      if (!(await insertSupportFile(tx, scope, file))) return false
      await appendAudit(tx, scope, {
        message: `${title} has uploaded support files`,
        siteId,
        ...(deviceId !== null && { deviceId }),
        after: { ...(deviceId !== null && { mac: machine }), id: commandId, bytes },
        at,
      })
      return true
    }),
  )
  if (isStored) return
  await removeImage(files, name)
  if (!command.mayRepeat) throw usedUp()
}

export interface OpenSupportFile {
  /** The caller closes it. */
  readonly handle: FileHandle
  readonly machine: string
  readonly bytes: number
}

/** @throws AppError not_found if the command or its file does not exist. */
export async function openSupportFile(
  ctx: Context,
  { files, sources }: { readonly files: Pick<SupportFiles, 'dir'>; readonly sources: readonly SupportSource[] },
  ticket: SupportTicket,
): Promise<OpenSupportFile> {
  const { commandId } = ticket
  const { file, bytes, machine } = await getCommand(ctx, sources, ticket)
  if (file === null || bytes === null) throw notFound(commandId)
  const handle = await open(join(files.dir, file), 'r').catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOENT' ? notFound(commandId) : error
  })
  return { handle, machine, bytes }
}

export interface FileToDelete {
  readonly storage: SupportFiles
  /** The files of the machine. */
  readonly files: FilesOf
  readonly id: string
  /** The subject of the audit record. */
  readonly of: { readonly title: string; readonly siteId: string | null; readonly deviceId?: string }
}

/** Deletes a file, with its audit record. @throws AppError not_found. */
export async function deleteSupportFile(
  ctx: Context,
  scope: PlaceScope,
  { storage, files, id, of: { title, ...place } }: FileToDelete,
): Promise<void> {
  const name = await inTx(ctx, async (tx) => {
    const deleted = await deleteSupportFileRow(tx, scope, { files, id })
    if (deleted === undefined) throw notFound(id)
    const message = `Delete support files of ${title}`
    await appendAudit(tx, scope, { message, ...place, before: { id }, at: ctx.clock.now() })
    return deleted
  })
  await rm(join(storage.dir, name), { force: true })
}

function usedUp(): AppError {
  return new AppError('forbidden', 'This address has been used')
}
