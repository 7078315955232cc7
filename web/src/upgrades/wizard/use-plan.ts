import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type Api, answerOf, useServer } from '../../api/client.ts'
import { Problem, fieldIn } from '../../api/problem.ts'
import type { Choice } from '../../display/forms/choices.ts'
import { type Plan, appliancePlan, changesIn, devicePlan } from './plan.ts'
import type { UpgradeRequest } from './request.ts'

interface Planned {
  readonly orgId: string
  readonly request: UpgradeRequest
  /** The routers or appliances that it may name. */
  readonly members: readonly Choice[]
}

/** Plans an upgrade, and starts it as it was planned. */
export function usePlan({ orgId, request, members }: Planned) {
  const { api } = useServer()
  const navigate = useNavigate()
  const queries = useQueryClient()
  const names = new Map(members.map(({ value, label }) => [value, label]))
  const preview = useMutation({ mutationFn: (wanted: UpgradeRequest) => previewPlan(api, orgId, wanted, names) })
  const start = useMutation({
    mutationFn: (planId: string) =>
      startPlan(api, orgId, request, planId).catch(async (error: unknown) => {
        // The answer to the first attempt was lost, and the person repeats it.
        if (isRefusedPlan(error) && (await isStarted(api, orgId, request, planId))) return planId
        throw error
      }),
    async onSuccess(upgradeId) {
      const { siteId } = request
      if (siteId === undefined)
        return navigate({ to: '/orgs/$orgId/upgrades/$upgradeId', params: { orgId, upgradeId } })
      // Roles in single sites follow it on the page of the site, which has read its upgrades before.
      void queries.invalidateQueries({ queryKey: ['site upgrades', siteId] })
      return navigate({ to: '/orgs/$orgId/sites/$siteId', params: { orgId, siteId } })
    },
    onError(error) {
      // The fleet has changed: a new plan is made and shown with the changes.
      if (error instanceof Problem && error.status === 409) preview.mutate(request)
    },
  })
  const isCurrent = JSON.stringify(preview.variables) === JSON.stringify(request)
  return {
    plan: isCurrent ? preview.data : undefined,
    /** The server's refusal, until the draft changes. */
    problem: isCurrent ? preview.error : null,
    /** The last refusal, whatever the draft has become. */
    refusal: preview.error,
    changes: start.error instanceof Problem ? changesIn(start.error.body, names) : null,
    isPlanning: preview.isPending,
    previewPlan: () => {
      start.reset()
      preview.mutate(request)
    },
    startPlan: (planId: string) => start.mutateAsync(planId),
  }
}

async function previewPlan(
  api: Api,
  orgId: string,
  request: UpgradeRequest,
  names: ReadonlyMap<string, string>,
): Promise<Plan> {
  if (request.kind === 'mxedge') {
    const plan = await answerOf(sendAppliances(api, orgId, request.siteId, { ...request.body, dry_run: true }))
    if ('plan_id' in plan) return appliancePlan(plan, names)
  } else {
    const plan = await sendDevices(api, orgId, request, { dry_run: true })
    if ('plan_id' in plan) return devicePlan(plan)
  }
  throw new Error('The answer to a preview is no plan')
}

type ApplianceRequest = Extract<UpgradeRequest, { kind: 'mxedge' }>

function sendAppliances(api: Api, orgId: string, siteId: string | undefined, body: ApplianceRequest['body']) {
  return siteId === undefined
    ? api.POST('/api/v1/orgs/{org_id}/mxedges/upgrade', { params: { path: { org_id: orgId } }, body })
    : api.POST('/api/v1/sites/{site_id}/mxedges/upgrade', { params: { path: { site_id: siteId } }, body })
}

/** What is asked of an upgrade: its plan, or its start by one. */
type Asked = { readonly dry_run: true } | { readonly plan_id: string }

function sendDevices(api: Api, orgId: string, request: Exclude<UpgradeRequest, ApplianceRequest>, asked: Asked) {
  const isStart = 'plan_id' in asked
  if (request.siteId === undefined) {
    const params = { path: { org_id: orgId } }
    return request.kind === 'ssr'
      ? answerOf(
          api.POST('/api/v1/orgs/{org_id}/ssr/upgrade', {
            params,
            body: isStart ? asked : { ...request.body, ...asked },
          }),
        )
      : answerOf(
          api.POST('/api/v1/orgs/{org_id}/devices/upgrade', {
            params,
            body: isStart ? asked : { ...request.body, ...asked },
          }),
        )
  }
  const path = { site_id: request.siteId }
  if (request.kind === 'device')
    return answerOf(
      api.POST('/api/v1/sites/{site_id}/devices/upgrade', {
        params: { path },
        body: isStart ? asked : { ...request.body, ...asked },
      }),
    )
  const { deviceId, body } = request
  return answerOf(
    api.POST('/api/v1/sites/{site_id}/ssr/{device_id}/upgrade', {
      params: { path: { ...path, device_id: deviceId } },
      body: isStart ? { ...asked, version: body.version } : { ...body, ...asked },
    }),
  )
}

function isRefusedPlan(error: unknown): boolean {
  return error instanceof Problem && fieldIn(error.message) === 'plan_id'
}

/** True if an upgrade was started by the plan: it has the id of the plan. */
async function isStarted(api: Api, orgId: string, { siteId }: UpgradeRequest, planId: string): Promise<boolean> {
  const path = { upgrade_id: planId }
  const found = await (siteId === undefined
    ? api.GET('/api/v1/orgs/{org_id}/upgrades/{upgrade_id}', { params: { path: { ...path, org_id: orgId } } })
    : api.GET('/api/v1/sites/{site_id}/upgrades/{upgrade_id}', { params: { path: { ...path, site_id: siteId } } }))
  return found.response.ok
}

/** @returns The id of the upgrade. */
async function startPlan(api: Api, orgId: string, request: UpgradeRequest, planId: string): Promise<string> {
  const plan = { plan_id: planId }
  const started = await (request.kind === 'mxedge'
    ? answerOf(sendAppliances(api, orgId, request.siteId, plan))
    : sendDevices(api, orgId, request, plan))
  if ('upgrade_id' in started) return started.upgrade_id
  if (!('id' in started)) throw new Error('The answer to a start is no upgrade')
  return started.id
}
