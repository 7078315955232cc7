/** The ids of the known events of one queue. */
export interface OrderedIds {
  readonly size: number
  add(id: string): void
  delete(id: string): void
  /** Returns the first ids in their order. */
  first(count: number): string[]
}

/** Most ids come in order, because transactions mostly commit in the order of their events. Only the others are sorted. */
export function createOrderedIds(): OrderedIds {
  const inOrder = new Set<string>()
  let late = new Set<string>()
  let [lastId, lastLateId] = ['', '']
  let isLateSorted = true
  return {
    get size() {
      return inOrder.size + late.size
    },
    add(id) {
      if (id > lastId) {
        inOrder.add(id)
        lastId = id
        return
      }
      late.add(id)
      isLateSorted &&= id > lastLateId
      if (id > lastLateId) lastLateId = id
    },
    delete(id) {
      if (!inOrder.delete(id)) late.delete(id)
    },
    first(count) {
      if (!isLateSorted) late = new Set([...late].toSorted())
      isLateSorted = true
      return [...inOrder.values().take(count), ...late.values().take(count)].toSorted().slice(0, count)
    },
  }
}
