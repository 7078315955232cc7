import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type Api, answerOf, useServer } from '../../api/client.ts'
import { Problem } from '../../api/problem.ts'
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
  const names = new Map(members.map(({ value, label }) => [value, label]))
  const preview = useMutation({ mutationFn: (wanted: UpgradeRequest) => previewPlan(api, orgId, wanted, names) })
  const start = useMutation({
    mutationFn: (planId: string) => startPlan(api, orgId, request, planId),
    onSuccess: (upgradeId) => navigate({ to: '/orgs/$orgId/upgrades/$upgradeId', params: { orgId, upgradeId } }),
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
  { kind, body }: UpgradeRequest,
  names: ReadonlyMap<string, string>,
): Promise<Plan> {
  const params = { path: { org_id: orgId } }
  if (kind === 'mxedge') {
    const call = api.POST('/api/v1/orgs/{org_id}/mxedges/upgrade', { params, body: { ...body, dry_run: true } })
    const plan = await answerOf(call)
    if ('plan_id' in plan) return appliancePlan(plan, names)
  } else {
    const plan = await (kind === 'ssr'
      ? answerOf(api.POST('/api/v1/orgs/{org_id}/ssr/upgrade', { params, body: { ...body, dry_run: true } }))
      : answerOf(api.POST('/api/v1/orgs/{org_id}/devices/upgrade', { params, body: { ...body, dry_run: true } })))
    if ('plan_id' in plan) return devicePlan(plan)
  }
  throw new Error('The answer to a preview is no plan')
}

async function startPlan(api: Api, orgId: string, { kind }: UpgradeRequest, planId: string): Promise<string> {
  const params = { path: { org_id: orgId } }
  const plan = { plan_id: planId }
  const started = await (kind === 'mxedge'
    ? answerOf(api.POST('/api/v1/orgs/{org_id}/mxedges/upgrade', { params, body: plan }))
    : kind === 'ssr'
      ? answerOf(api.POST('/api/v1/orgs/{org_id}/ssr/upgrade', { params, body: plan }))
      : answerOf(api.POST('/api/v1/orgs/{org_id}/devices/upgrade', { params, body: plan })))
  if (!('id' in started)) throw new Error('The answer to a start is no upgrade')
  return started.id
}
