import { randomUUID } from 'node:crypto'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type SiteScope, systemScope } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/db.ts'
import { AppError, invalidField, notFound } from '../../platform/errors.ts'
import { type ReceivedFile, discardImage, keepImageFor } from '../../platform/images/image-files.ts'
import type { CommandState } from '../tables.ts'
import type { SupportTicket } from './file-url.ts'
import {
  type SupportCommand,
  type SupportFileKey,
  deleteSupportFileRow,
  findSupportCommand,
  insertSupportFile,
} from './store.ts'
import type { SupportFiles } from './support-files.ts'

/** The states of a command whose device may be uploading: it may go on after its connection was lost. */
const uploading: ReadonlySet<CommandState> = new Set(['sent', 'done', 'unknown'])

/**
 * Returns the command of an upload, before the file is read.
 * @throws AppError not_found where the command is gone or not sent; forbidden where it has its file already.
 */
export async function getAwaitedCommand(ctx: Context, { orgId, commandId }: SupportTicket): Promise<SupportCommand> {
  const command = await findSupportCommand(ctx.db, systemScope('gateway', orgId), commandId)
  if (command === undefined || !uploading.has(command.state)) throw notFound(commandId)
  if (command.file !== null) throw usedUp()
  return command
}

/**
 * Stores the file that a device has uploaded, with an audit record. The file is gone when this throws.
 * @throws AppError invalid (empty); forbidden where another upload was faster, or the command is gone by now.
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
    readonly command: SupportCommand
    readonly received: ReceivedFile
  },
): Promise<void> {
  const { orgId, commandId } = ticket
  const { sizeBytes: bytes } = received
  if (bytes === 0) {
    await discardImage(received)
    throw invalidField('data', 'is empty')
  }
  const name = randomUUID()
  const scope = systemScope('gateway', orgId)
  await keepImageFor(files, { ...received, name }, () =>
    inTx(ctx, async (tx) => {
      const at = ctx.clock.now()
      if (!(await insertSupportFile(tx, scope, { commandId, name, bytes, at }))) throw usedUp()
      await appendAudit(tx, scope, {
        message: `Device ${command.name ?? command.mac} has uploaded support files`,
        siteId: command.siteId,
        deviceId: command.deviceId,
        after: { mac: command.mac, id: commandId, bytes },
        at,
      })
    }),
  )
}

export interface OpenSupportFile {
  /** The caller closes it. */
  readonly handle: FileHandle
  readonly mac: string
  readonly bytes: number
}

/** @throws AppError not_found where the command or its file is gone. */
export async function openSupportFile(
  ctx: Context,
  { dir }: Pick<SupportFiles, 'dir'>,
  { orgId, commandId }: SupportTicket,
): Promise<OpenSupportFile> {
  const command = await findSupportCommand(ctx.db, systemScope('gateway', orgId), commandId)
  if (command === undefined || command.file === null || command.bytes === null) throw notFound(commandId)
  const handle = await open(join(dir, command.file), 'r').catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOENT' ? notFound(commandId) : error
  })
  return { handle, mac: command.mac, bytes: command.bytes }
}

/** Deletes a file, with its audit record. @throws AppError not_found. */
export async function deleteSupportFile(
  ctx: Context,
  scope: SiteScope,
  { files, ...key }: SupportFileKey & { readonly files: SupportFiles },
): Promise<void> {
  const name = await inTx(ctx, async (tx) => {
    const deleted = await deleteSupportFileRow(tx, scope, key)
    if (deleted === undefined) throw notFound(key.id)
    await appendAudit(tx, scope, {
      message: 'Delete support files of a device',
      siteId: scope.siteId,
      deviceId: key.deviceId,
      before: { id: key.id },
      at: ctx.clock.now(),
    })
    return deleted
  })
  await rm(join(files.dir, name), { force: true })
}

function usedUp(): AppError {
  return new AppError('forbidden', 'This address has been used')
}
