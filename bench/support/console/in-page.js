// Runs in the measured pages.
globalThis.bench = {
  /** Sets a mark when rows are painted and the page runs its next task. */
  awaitRows(selector) {
    const seen = new MutationObserver(() => {
      if (document.querySelector(selector) === null) return
      seen.disconnect()
      requestAnimationFrame(() => setTimeout(() => performance.mark('rows')))
    })
    seen.observe(document, { childList: true, subtree: true })
  },

  /** Scrolls at a constant speed. */
  scroll(selector, pxPerS, ms) {
    const scroller = document.querySelector(selector)
    return new Promise((resolve) => {
      const began = performance.now()
      const step = (now) => {
        scroller.scrollTop = ((now - began) / 1000) * pxPerS
        if (now - began < ms) requestAnimationFrame(step)
        else resolve(scroller.scrollTop)
      }
      requestAnimationFrame(step)
    })
  },

  /** Records the time of each frame until stopFrames(). */
  startFrames() {
    const times = []
    let isRunning = true
    const note = (time) => {
      times.push(time)
      if (isRunning) requestAnimationFrame(note)
    }
    requestAnimationFrame(note)
    this.stopFrames = () => {
      isRunning = false
      return times
    }
  },
}
bench.awaitRows('.device-row:not(.device-head)')
