import type { FastifyRequest } from 'fastify'
import type { Readable } from 'node:stream'
import { Type } from 'typebox'
import { site } from '../../http/at.ts'
import { readForm } from '../../http/bodies/forms.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { ListErrorReply } from '../../http/schemas.ts'
import { AppError } from '../../platform/errors.ts'
import { presentingFor } from '../routes.ts'
import { encodeTable } from './device-table.ts'
import { type ImportItem, importDevices } from './import-devices.ts'
import { listTableDevices } from './store.ts'
import type { Device } from '../store.ts'
import { presentDevice } from '../wire.ts'
import { ImportBody, ImportReply, MAX_TABLE_BYTES, parseImport, parseImportTable, presentImport } from './wire.ts'

const tag = 'Sites Devices'

/** Exports devices of a site as a table, and imports it again. Source: contract, Sites Devices. */
export const deviceTransferOperations: Operation[] = [
  operation({
    id: 'exportSiteDevices',
    summary: 'Export the devices of a site as CSV',
    method: 'GET',
    tag,
    at: site('/devices/export', { needs: 'read' }),
    reply: Type.String(),
    mediaType: 'text/csv',
    run: async (ctx, { scope, reply }) => {
      void reply.header('content-disposition', 'attachment; filename="devices.csv"')
      return encodeTable(await listTableDevices(ctx.db, scope))
    },
  }),
  operation({
    id: 'importSiteDevices',
    summary: 'Import names and places of devices, as JSON or CSV',
    method: 'POST',
    tag,
    at: site('/devices/import', { needs: 'write' }),
    body: ImportBody,
    reply: ImportReply,
    errors: { 400: ListErrorReply },
    run: async (ctx, { scope, caller, request }) => {
      const items = await readItems(request)
      const presenting = await presentingFor(ctx, caller, scope)
      const present = (device: Device) => presentDevice(device, presenting)
      return presentImport(await importDevices(ctx, scope, { items, present }), present)
    },
  }),
].flat()

async function readItems(request: FastifyRequest): Promise<ImportItem[]> {
  if (!request.isMultipart()) return parseImport(request.body)
  const { file } = await readForm(request, {
    file: 'file',
    maxBytes: MAX_TABLE_BYTES,
    take: ({ body }) => readBytes(body),
    discard: async () => {},
  })
  return parseImportTable(file)
}

async function readBytes(body: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > MAX_TABLE_BYTES) throw new AppError('too_large', `The file may have at most ${MAX_TABLE_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
