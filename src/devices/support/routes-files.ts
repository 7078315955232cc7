import type { Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { acceptForms, readForm } from '../../http/bodies/forms.ts'
import type { Context } from '../../platform/context.ts'
import { invalidField } from '../../platform/errors.ts'
import { discardImage, receiveFile } from '../../platform/images/image-files.ts'
import { parseMac } from '../device.ts'
import { openSupportTicket } from './file-url.ts'
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
        const ticket = openSupportTicket(ctx, 'upload', request.params)
        const command = await getAwaitedCommand(ctx, sources, ticket)
        const { fields, file: received } = await readForm(request, {
          file: 'data',
          texts: ['name'],
          maxBytes: files.maxBytes,
          // A file that is only read to its end, because the command has one, counts for no quota.
          take: ({ body }) => receiveFile(files, { orgId: ticket.orgId, isStored: command.file === null, body }),
          discard: discardImage,
        })
        const { name = '' } = fields
        if ((parseMac(name) ?? name) !== command.machine) {
          await discardImage(received)
          throw invalidField('name', `must be ${command.machine}, ${command.machineIs}`)
        }
        await recordSupportFile(ctx, ticket, { files, command, received })
      },
    })
  }
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
        const ticket = openSupportTicket(ctx, 'read', request.params)
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
