import type { Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { acceptForms, readForm } from '../../http/bodies/forms.ts'
import type { Context } from '../../platform/context.ts'
import { invalidField } from '../../platform/errors.ts'
import { type ReceivedFile, discardImage, receiveFile } from '../../platform/images/image-files.ts'
import { skipUpload } from '../../platform/storage/uploads.ts'
import { parseMac } from '../device.ts'
import { openReadTicket, openUploadTicket } from './file-url.ts'
import { getAwaitedCommand, openSupportFile, recordSupportFile } from './record-file.ts'
import type { SupportSource } from './source.ts'
import type { SupportFiles } from './support-files.ts'

/** A client that accepts no data for this long counts as gone, whatever the state of its socket. */
const IDLE_MS = 60_000

const url = '/support-files/:org_id/:command_id/:expires/:signature'
const schema = {
  hide: true,
  params: Type.Object({
    org_id: Type.String(),
    command_id: Type.String(),
    expires: Type.String(),
    signature: Type.String(),
  }),
} as const

/**
 * Receives the files of devices and serves them to people, outside /api/v1 and without credentials, because the signed
 * path is one (file-url.ts). Register it without a prefix.
 */
export function supportFileRoutes(
  ctx: Context,
  files: SupportFiles,
  sources: readonly SupportSource[],
): FastifyPluginAsyncTypebox {
  return async (http) => {
    await http.register(uploadRoute(ctx, files, sources))
    await http.register(readRoute(ctx, files, sources))
  }
}

/** Devices post a form with their serial number in `name`, agents with the id of their appliance; the file is in `data`. */
function uploadRoute(ctx: Context, files: SupportFiles, sources: readonly SupportSource[]): FastifyPluginAsyncTypebox {
  return async (http) => {
    await acceptForms(http)
    http.route({
      method: 'POST',
      url,
      schema,
      handler: async (request) => {
        const ticket = openUploadTicket(ctx, request.params)
        const command = await getAwaitedCommand(ctx, sources, ticket)
        const { fields, file: received } = await readForm(request, {
          file: 'data',
          texts: ['name'],
          maxBytes: files.maxBytes,
          take: ({ body }) => takeFile(files, { orgId: ticket.orgId, isKnown: command.file !== null, body }),
          discard,
        })
        const { name = '' } = fields
        if ((parseMac(name) ?? name) !== command.machine) {
          await discard(received)
          throw invalidField('name', `must be ${command.machine}, ${command.machineIs}`)
        }
        if (received !== null) await recordSupportFile(ctx, ticket, { files, command, received })
      },
    })
  }
}

/** @returns Null if the command has its file: another one is read to its end, at the pace of the organization, and not written. */
async function takeFile(
  files: SupportFiles,
  { orgId, isKnown, body }: { readonly orgId: string; readonly isKnown: boolean; readonly body: Readable },
): Promise<ReceivedFile | null> {
  if (!isKnown) return receiveFile(files, { orgId, body })
  await skipUpload({ body, maxBytes: files.maxBytes }, (bytes) => files.quota.pace(orgId, bytes))
  return null
}

async function discard(received: ReceivedFile | null): Promise<void> {
  if (received !== null) await discardImage(received)
}

function readRoute(ctx: Context, files: SupportFiles, sources: readonly SupportSource[]): FastifyPluginAsyncTypebox {
  return async (http) => {
    const sending = new Set<Readable>()
    http.addHook('preClose', async () => sending.forEach((body) => body.destroy()))
    http.route({
      method: 'GET',
      url,
      schema,
      exposeHeadRoute: false,
      handler: async (request, reply) => {
        const ticket = openReadTicket(ctx, request.params)
        const { machine, bytes, handle } = await openSupportFile(ctx, { files, sources }, ticket)
        void reply.headers({
          'content-type': 'application/octet-stream',
          'content-length': bytes,
          'content-disposition': `attachment; filename="support-${machine}-${ticket.commandId}.bin"`,
          'cache-control': 'private, no-store',
        })
        const body = handle.createReadStream()
        sending.add(body)
        body.once('close', () => sending.delete(body))
        reply.raw.setTimeout(IDLE_MS)
        return reply.send(body)
      },
    })
  }
}
