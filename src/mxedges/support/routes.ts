import { deleteSupportFile } from '../../devices/support/record-file.ts'
import { findSupportFile, listSupportFiles } from '../../devices/support/store.ts'
import type { SupportFiles } from '../../devices/support/support-files.ts'
import { orgAndSite } from '../../http/at.ts'
import { listOperation } from '../../http/lists/list-operation.ts'
import { presentPage } from '../../http/lists/lists.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { Empty, Uuid } from '../../http/schemas.ts'
import { notFound } from '../../platform/errors.ts'
import { queueMxedgeCommand } from '../commands/queue-command.ts'
import { titleOf } from '../mxedge.ts'
import { getMxedge } from '../store.ts'
import { filesOfMxedge } from './store.ts'
import { MxedgeSupportFileReply, presentMxedgeFile } from './wire.ts'

const tag = { org: 'Orgs MxEdges', site: 'Sites MxEdges' } as const
const all = '/mxedges/:mxedge_id/support'
const one = `${all}/:file_id`
const params = { mxedge_id: Uuid }
const fileParams = { ...params, file_id: Uuid }

const twins = (verb: string) => ({
  org: `${verb} an edge appliance of an organization`,
  site: `${verb} an edge appliance of a site`,
})

/**
 * Files that agents of edge appliances collect. They may contain passwords, hence only admins read them.
 * Source: contract, Orgs MxEdges and Sites MxEdges; the list and the single file are Signalbox's own.
 */
export function mxedgeSupportOperations(storage: SupportFiles): Operation[] {
  return [
    operation({
      id: { org: 'uploadOrgMxEdgeSupportFiles', site: 'uploadSiteMxEdgeSupportFiles' },
      summary: {
        org: 'Let an edge appliance of an organization upload its support files',
        site: 'Let an edge appliance of a site upload its support files',
      },
      method: 'POST',
      tag,
      at: orgAndSite(all, { needs: 'operate' }),
      params,
      reply: Empty,
      run: (ctx, { scope, params: { mxedge_id: id } }) =>
        queueMxedgeCommand(ctx, scope, { id, order: { kind: 'support', params: {} } }),
    }),
    listOperation({
      id: { org: 'listOrgMxEdgeSupportFiles', site: 'listSiteMxEdgeSupportFiles' },
      summary: twins('List the support files of'),
      tag,
      at: orgAndSite(all, { needs: 'admin' }),
      params,
      item: MxedgeSupportFileReply,
      run: async (ctx, { scope, params: { mxedge_id: mxedgeId }, page }) => {
        await getMxedge(ctx.db, scope, mxedgeId)
        const found = await listSupportFiles(ctx.db, filesOfMxedge(scope, mxedgeId), page)
        return presentPage(found, (file) => presentMxedgeFile(ctx, { orgId: scope.orgId, mxedgeId }, file))
      },
    }),
    operation({
      id: { org: 'getOrgMxEdgeSupportFile', site: 'getSiteMxEdgeSupportFile' },
      summary: twins('Get the address of a support file of'),
      method: 'GET',
      tag,
      at: orgAndSite(one, { needs: 'admin' }),
      params: fileParams,
      reply: MxedgeSupportFileReply,
      run: async (ctx, { scope, params: { mxedge_id: mxedgeId, file_id: id } }) => {
        const file = await findSupportFile(ctx.db, filesOfMxedge(scope, mxedgeId), id)
        if (file === undefined) throw notFound(id)
        return presentMxedgeFile(ctx, { orgId: scope.orgId, mxedgeId }, file)
      },
    }),
    operation({
      id: { org: 'deleteOrgMxEdgeSupportFile', site: 'deleteSiteMxEdgeSupportFile' },
      summary: twins('Delete a support file of'),
      method: 'DELETE',
      tag,
      at: orgAndSite(one, { needs: 'admin' }),
      params: fileParams,
      reply: Empty,
      run: async (ctx, { scope, params: { mxedge_id: mxedgeId, file_id: id } }) => {
        const mxedge = await getMxedge(ctx.db, scope, mxedgeId)
        const of = { title: titleOf(mxedge), siteId: mxedge.siteId }
        await deleteSupportFile(ctx, scope, { storage, files: filesOfMxedge(scope, mxedgeId), id, of })
      },
    }),
  ].flat()
}
