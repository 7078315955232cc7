import { Type } from 'typebox'
import type { SiteScope } from '../../access/scope.ts'
import { orgSites, site } from '../../http/at.ts'
import { listOperation } from '../../http/lists/list-operation.ts'
import { presentPage } from '../../http/lists/lists.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { Uuid, named } from '../../http/schemas.ts'
import type { Context } from '../../platform/context.ts'
import { notFound } from '../../platform/errors.ts'
import { findClients, listSiteClients } from './store-clients.ts'
import { type MetricsOf, findConfigTotals, findPortTotals, listMajorVersions } from './store-metrics.ts'
import { listRadioMacs } from './store-radio-macs.ts'
import { listBuckets } from './store-series.ts'
import { ClientReply, SiteClientsQuery, presentClient, presentClients } from './wire-clients.ts'
import {
  GatewayMetricsReply,
  SwitchMetricsQuery,
  SwitchMetricsReply,
  type SiteMetrics,
  parseSwitchScope,
  presentGatewayMetrics,
  presentSwitchMetrics,
} from './wire-metrics.ts'
import { SeriesQuery, SeriesReply, parseSeries, presentSeries } from './wire-series.ts'

const tag = 'Stats'
const one = '/stats/devices/:device_id'
const params = { device_id: Uuid }

/** Source: contract, `ap_radio_mac`. */
const RadioMacsReply = named(
  'ApRadioMacs',
  Type.Object({
    mac: Type.String(),
    radio_macs: Type.Array(Type.String(), { description: 'of its radio networks; empty before its first report' }),
  }),
)

/** Statistics from the reports of devices. Source: contract, Orgs Devices and Sites Stats, Devices. */
export const telemetryOperations: Operation[] = [
  listOperation({
    id: 'listOrgApsMacs',
    summary: 'List the radio addresses of the access points of an organization',
    tag: 'Orgs Devices',
    at: orgSites('/devices/radio_macs', { needs: 'read' }),
    item: RadioMacsReply,
    run: async (ctx, { scope, page }) =>
      presentPage(await listRadioMacs(ctx.db, scope, page), ({ mac, radioMacs }) => ({
        mac,
        radio_macs: [...(radioMacs ?? [])],
      })),
  }),
  operation({
    id: 'getSiteAllClientsStatsByDevice',
    summary: 'List the clients that a device reported last',
    method: 'GET',
    tag,
    at: site(`${one}/clients`, { needs: 'read' }),
    params,
    reply: Type.Array(ClientReply),
    run: async (ctx, { scope, params: { device_id: deviceId } }) => {
      const found = await findClients(ctx.db, scope, deviceId)
      if (found === undefined) throw notFound(deviceId)
      return presentClients(found)
    },
  }),
  listOperation({
    id: 'listSiteWirelessClientsStats',
    summary: 'List the clients of the connected devices of a site',
    tag,
    at: site('/stats/clients', { needs: 'read' }),
    query: SiteClientsQuery,
    item: ClientReply,
    run: async (ctx, { scope, query, page }) =>
      presentPage(
        await listSiteClients(ctx.db, scope, { kind: query.wired === true ? 'wired' : 'wireless', page }),
        presentClient,
      ),
  }),
  operation({
    id: 'getSiteDeviceSeries',
    summary: 'Get values of a device in buckets of ten minutes',
    method: 'GET',
    tag,
    at: site(`${one}/series`, { needs: 'read' }),
    params,
    query: SeriesQuery,
    reply: SeriesReply,
    run: async (ctx, { scope, query, params: { device_id: deviceId } }) => {
      const request = parseSeries(query, ctx.clock.now())
      const buckets = await listBuckets(ctx.db, scope, { deviceId, ...request })
      if (buckets === undefined) throw notFound(deviceId)
      return presentSeries(buckets, request)
    },
  }),
  operation({
    id: 'getSiteSwitchesMetrics',
    summary: 'Get metrics of the switches of a site',
    method: 'GET',
    tag,
    at: site('/stats/switches/metrics', { needs: 'read' }),
    query: SwitchMetricsQuery,
    reply: SwitchMetricsReply,
    run: async (ctx, { scope, query }) => {
      const of = { type: 'switch', mac: parseSwitchScope(query) } as const
      const ports = await findPortTotals(ctx.db, scope, of)
      if (of.mac !== null && ports.devices === 0) throw notFound(of.mac)
      return presentSwitchMetrics(ports, query.type === undefined ? await getSiteMetrics(ctx, scope, of) : null)
    },
  }),
  operation({
    id: 'getSiteGatewayMetrics',
    summary: 'Get metrics of the gateways of a site',
    method: 'GET',
    tag,
    at: site('/stats/gateways/metrics', { needs: 'read' }),
    reply: GatewayMetricsReply,
    run: async (ctx, { scope }) =>
      presentGatewayMetrics(await getSiteMetrics(ctx, scope, { type: 'gateway', mac: null })),
  }),
].flat()

async function getSiteMetrics(ctx: Context, scope: SiteScope, of: MetricsOf): Promise<SiteMetrics> {
  return { config: await findConfigTotals(ctx.db, scope, of), versions: await listMajorVersions(ctx.db, scope, of) }
}
