// The moves that a run can make: the build takes them from core/docs/statechart.md.
declare module "stepwell:statechart" {
  const chart: {
    initial: string;
    final: string[];
    states: string[];
    edges: { from: string; on: string; to: string }[];
  };
  export default chart;
}
