const pauseMs = 1_000;

/** Passes on at most one error per second: an outage produces thousands of equal ones. */
export function atMostOncePerSecond(report: (error: Error) => void): (error: Error) => void {
  let last = 0;
  return (error) => {
    if (Date.now() - last < pauseMs) return;
    last = Date.now();
    report(error);
  };
}
