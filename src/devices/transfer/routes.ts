import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import type { Readable } from 'node:stream'
import { Type } from 'typebox'
import { authorizeSite } from '../../access/authorize.ts'
import { readForm, takeForms } from '../../http/forms.ts'
import { takeJson } from '../../http/json.ts'
import { SiteParams } from '../../http/schemas.ts'
import { revealsSecrets } from '../../orgs/reveal.ts'
import type { Context } from '../../platform/context.ts'
import { AppError } from '../../platform/errors.ts'
import { imageUrl } from '../../platform/images/image-url.ts'
import { encodeTable } from './device-table.ts'
import { type ImportItem, importDevices } from './import-devices.ts'
import { listTableDevices } from './store.ts'
import { ImportBody, ImportReply, MAX_TABLE_BYTES, parseImport, parseImportTable, presentImport } from './wire.ts'

const tags = ['Sites Devices']

/** Devices of a site as a table, to be changed elsewhere and brought back. Source: contract, Sites Devices. */
export function deviceTransferRoutes(ctx: Context): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.get(
      '/sites/:site_id/devices/export',
      {
        schema: {
          operationId: 'exportSiteDevices',
          tags,
          params: SiteParams,
          produces: ['text/csv'],
          response: { 200: Type.String() },
        },
      },
      async ({ caller, params }, reply) => {
        const scope = await authorizeSite(ctx, caller, { siteId: params.site_id, needs: 'read' })
        void reply.header('content-type', 'text/csv; charset=utf-8')
        void reply.header('content-disposition', 'attachment; filename="devices.csv"')
        return encodeTable(await listTableDevices(ctx.db, scope))
      },
    )

    await http.register(importRoute(ctx))
  }
}

function importRoute(ctx: Context): FastifyPluginAsyncTypebox {
  return async (http) => {
    await takeForms(http)
    takeJson(http)

    http.route({
      method: 'POST',
      url: '/sites/:site_id/devices/import',
      schema: {
        operationId: 'importSiteDevices',
        tags,
        params: SiteParams,
        body: ImportBody,
        response: { 200: ImportReply },
      },
      handler: async (request) => {
        const { caller, params } = request
        const scope = await authorizeSite(ctx, caller, { siteId: params.site_id, needs: 'write' })
        const items = await readItems(request)
        const withSecrets = await revealsSecrets(ctx, caller, scope)
        const urlOf = (image: string): string => imageUrl(ctx, image)
        return presentImport(await importDevices(ctx, scope, items), { urlOf, withSecrets })
      },
    })
  }
}

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
    if (length > MAX_TABLE_BYTES) throw new AppError('too_large', `The file may have at most ${MAX_TABLE_BYTES} bytes.`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
